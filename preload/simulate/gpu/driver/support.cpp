// The functions of support.h. A library handle begins with a mark and its stream, so a stub can
// check any pointer.

#include "model/base/support.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <unistd.h>

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/devices/device_group.h"
#include "model/memory/launch_effects.h"
#include "model/memory/world.h"
#include "model/ranks/communicator.h"
#include "model/streams/stream.h"

namespace {

constexpr uint64_t kHandleMark = 0x70656b6c73696d31;  // "pekl sim1"
constexpr size_t kMinHandleBytes = 64;

struct LibraryHandle {
    uint64_t mark;
    void* stream;
};

LibraryHandle* library_handle(void* handle) {
    auto* const candidate = static_cast<LibraryHandle*>(handle);
    return candidate != nullptr && candidate->mark == kHandleMark ? candidate : nullptr;
}

// Whether this process is the only rank of its job, see Note [A rank alone].
bool is_rank_alone() {
    static const char* const text = std::getenv("PEAKLINE_SIM_RANK_ALONE");
    return text != nullptr && std::strcmp(text, "1") == 0;
}

// This process, those of its group, and one for those that are not simulated. The caller holds the
// lock.
std::vector<peakline_sim_process> processes_on(int index) {
    simgpu::World& world = simgpu::World::instance();
    std::vector<peakline_sim_process> processes;
    if (index < 0 || index >= world.installed().device_count) {
        return processes;
    }
    const size_t unknown =
        simgpu::constant(simgpu::Constant::kOtherProcesses, *world.installed().profile);
    const simgpu::Device* const device = world.find_by_index(index);
    processes.push_back({getpid(), device != nullptr ? device->used_bytes() : 0});
    processes.push_back({1, unknown});
    for (const simgpu::ProcessUse& other : simgpu::DeviceGroup::instance().others(index)) {
        processes.push_back({other.pid, other.bytes});
    }
    std::erase_if(processes, [](const peakline_sim_process& one) { return one.bytes == 0; });
    return processes;
}

// Null when the stream is being captured: the collective is then a node, and nothing waits.
simgpu::Stream* announce_collective(void* stream) {
    const auto lock = simgpu::World::instance().lock();
    simgpu::Stream* const resolved = simgpu::Streams::instance().resolve(
        static_cast<CUstream>(stream), simgpu::current_context());
    if (resolved == nullptr) {
        return nullptr;
    }
    simgpu::GraphNode* node = nullptr;
    const CUresult result =
        simgpu::Streams::instance().enqueue(resolved, CU_GRAPH_NODE_TYPE_KERNEL, &node);
    return result == CUDA_SUCCESS && node == nullptr ? resolved : nullptr;
}

}  // namespace

SIMGPU_API void peakline_sim_not_modelled(const char* function_name, const char* error_name) {
    simgpu::report_not_modelled(function_name, error_name);
}

SIMGPU_API void peakline_sim_called(const char* function_name) {
    if (simgpu::log_level() >= 2) {
        simgpu::log_message(2, "%s", function_name);
    }
}

SIMGPU_API void* peakline_sim_new_handle(size_t bytes) {
    void* const handle = std::calloc(1, bytes < kMinHandleBytes ? kMinHandleBytes : bytes);
    if (handle != nullptr) {
        static_cast<LibraryHandle*>(handle)->mark = kHandleMark;
    }
    return handle;
}

SIMGPU_API void peakline_sim_free_handle(void* handle) {
    if (LibraryHandle* const ours = library_handle(handle)) {
        ours->mark = 0;
        std::free(handle);
    }
}

SIMGPU_API void peakline_sim_set_stream(void* handle, void* stream) {
    if (LibraryHandle* const ours = library_handle(handle)) {
        ours->stream = stream;
    }
}

SIMGPU_API void* peakline_sim_stream_of(void* handle) {
    const LibraryHandle* const ours = library_handle(handle);
    return ours == nullptr ? nullptr : ours->stream;
}

SIMGPU_API void peakline_sim_work_on_stream(void* stream) {
    const auto lock = simgpu::World::instance().lock();
    simgpu::Context* const context = simgpu::current_context();
    simgpu::Stream* const resolved =
        simgpu::Streams::instance().resolve(static_cast<CUstream>(stream), context);
    if (resolved != nullptr) {
        // An error invalidates the capture, and the end of the capture reports it.
        simgpu::Streams::instance().enqueue(resolved, CU_GRAPH_NODE_TYPE_KERNEL);
        simgpu::note_launch(nullptr);
    }
}

SIMGPU_API void peakline_sim_work_on_handle(void* handle) {
    if (const LibraryHandle* const ours = library_handle(handle)) {
        peakline_sim_work_on_stream(ours->stream);
    }
}

SIMGPU_API int peakline_sim_create_meeting(void* id) {
    const simgpu::MeetingId made = simgpu::create_meeting();
    std::memcpy(id, &made, sizeof made);
    return made.file >= 0 ? 1 : 0;
}

SIMGPU_API void* peakline_sim_join(const void* id, int rank, int rank_count, int may_wait) {
    if (may_wait != 0 && rank_count > 1 && is_rank_alone()) {
        return new simgpu::Communicator(simgpu::Meeting::alone(rank, rank_count), rank_count);
    }
    simgpu::MeetingId meeting_id;
    std::memcpy(&meeting_id, id, sizeof meeting_id);
    auto meeting = simgpu::Meeting::open(meeting_id, rank, rank_count);
    if (meeting == nullptr) {
        simgpu::log_message(1, "rank %d cannot reach the others: collectives deliver zeros", rank);
    }
    auto* const communicator = new simgpu::Communicator(std::move(meeting), rank_count);
    if (may_wait != 0 && communicator->wait_for_all_to_join() && meeting_id.process == getpid()) {
        // All ranks have opened the file.
        close(meeting_id.file);
    }
    return communicator;
}

SIMGPU_API int peakline_sim_is_alone(void* communicator) {
    return static_cast<simgpu::Communicator*>(communicator)->is_alone() ? 1 : 0;
}

SIMGPU_API void peakline_sim_leave(void* communicator) {
    delete static_cast<simgpu::Communicator*>(communicator);
}

SIMGPU_API int peakline_sim_gather_on_host(void* communicator,
                                           const void* from,
                                           size_t bytes,
                                           void* to) {
    return static_cast<simgpu::Communicator*>(communicator)->gather_on_host(from, bytes, to) ? 1
                                                                                             : 0;
}

SIMGPU_API void peakline_sim_collective_on_stream(void* communicator,
                                                  const peakline_sim_collective* collective,
                                                  void* stream) {
    if (simgpu::Stream* const free_stream = announce_collective(stream)) {
        static_cast<simgpu::Communicator*>(communicator)->start(*collective, free_stream);
    }
}

SIMGPU_API void peakline_sim_send_on_stream(
    void* communicator, int to_rank, const void* from, size_t bytes, void* stream) {
    if (announce_collective(stream) != nullptr) {
        static_cast<simgpu::Communicator*>(communicator)->send(to_rank, from, bytes);
    }
}

SIMGPU_API void peakline_sim_receive_on_stream(
    void* communicator, int from_rank, void* to, size_t bytes, void* stream) {
    if (simgpu::Stream* const free_stream = announce_collective(stream)) {
        static_cast<simgpu::Communicator*>(communicator)
            ->receive(from_rank, to, bytes, free_stream);
    }
}

SIMGPU_API void peakline_sim_zero_output(void* output, size_t bytes) {
    if (output == nullptr) {
        return;
    }
    bool is_on_device = false;
    {
        const auto lock = simgpu::World::instance().lock();
        is_on_device =
            simgpu::World::instance().is_device_address(reinterpret_cast<uintptr_t>(output));
    }
    if (!is_on_device) {
        std::memset(output, 0, bytes);
    }
}

SIMGPU_API int peakline_sim_device_memory(int index, size_t* used_bytes, size_t* capacity_bytes) {
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    if (index < 0 || index >= world.installed().device_count) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *used_bytes = 0;
    for (const peakline_sim_process& process : processes_on(index)) {
        *used_bytes += process.bytes;
    }
    *capacity_bytes = world.installed().capacity_bytes;
    return CUDA_SUCCESS;
}

SIMGPU_API int peakline_sim_processes(int index, peakline_sim_process* processes, int room) {
    const auto lock = simgpu::World::instance().lock();
    const std::vector<peakline_sim_process> all = processes_on(index);
    const size_t shown = std::min(all.size(), static_cast<size_t>(std::max(room, 0)));
    std::copy_n(all.begin(), shown, processes);
    return static_cast<int>(all.size());
}

SIMGPU_API size_t peakline_sim_handle_bytes(int kind) {
    simgpu::Session session;
    if (session.context == nullptr) {
        return 0;
    }
    constexpr simgpu::Constant kConstants[] = {simgpu::Constant::kCublasHandle,
                                               simgpu::Constant::kCudnnHandle,
                                               simgpu::Constant::kNcclCommunicator};
    return simgpu::constant(kConstants[kind], session.device().profile());
}

SIMGPU_API size_t peakline_sim_most_used(int device) {
    simgpu::World& world = simgpu::World::instance();
    return world.has_device(device) ? world.device(device).most_used_bytes() : 0;
}
