// The support calls, see support.h. Library handles carry the stream in their first words, marked,
// so that a stub can be given any pointer.

#include "model/support.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "driver/driver_state.h"
#include "model/exchange.h"
#include "model/log.h"
#include "model/stream.h"
#include "model/world.h"

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
        // An error makes the capture invalid, which its end reports.
        simgpu::Streams::instance().enqueue(resolved, CU_GRAPH_NODE_TYPE_KERNEL);
    }
}

SIMGPU_API void peakline_sim_work_on_handle(void* handle) {
    if (const LibraryHandle* const ours = library_handle(handle)) {
        peakline_sim_work_on_stream(ours->stream);
    }
}

SIMGPU_API void peakline_sim_exchanged(void* to, const void* from, size_t bytes) {
    simgpu::log_message(2, "collective of %zu bytes to %p from %p", bytes, to, from);
    const auto lock = simgpu::World::instance().lock();
    simgpu::Exchange::instance().note_collective(
        reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from), bytes);
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

SIMGPU_API int peakline_sim_device_memory(int device, size_t* used_bytes, size_t* capacity_bytes) {
    simgpu::World& world = simgpu::World::instance();
    const auto lock = world.lock();
    if (!world.has_device(device)) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *used_bytes = world.device(device).used_bytes();
    *capacity_bytes = world.device(device).capacity_bytes();
    return CUDA_SUCCESS;
}
