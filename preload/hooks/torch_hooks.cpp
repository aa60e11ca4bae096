#include "torch_hooks.h"

#include <atomic>

#include "allocator/capture/autograd_nodes.h"
#include "allocator/capture/libraries/got_patch.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/hot_data.h"
#include "allocator/record/recorder.h"
#include "allocator_calls.h"
#include "engine_hook.h"
#include "library_hooks.h"
#include "nccl_hook.h"
#include "preload/regions/autograd_hooks.h"
#include "saved_hook.h"
#include "segment_hooks.h"
#include "stream_hook.h"

namespace peakline::preload {
namespace {

using capture::ThreadState;
using record::AllocEvent;
using record::Recorder;

// torch calls kReportSymbol under its device lock for every block: exact sizes in exact order.
constexpr uint8_t kCudaDeviceType = 1;

// at::sequence_number::get_and_increment(): every new autograd node calls it.
constexpr char kSequenceSymbol[] = "_ZN2at15sequence_number17get_and_incrementEv";
using SequenceFunction = uint64_t (*)();

// at::RecordFunction::currentThreadId(): the thread number that the backward pass reports later.
constexpr char kThreadIdSymbol[] = "_ZN2at14RecordFunction15currentThreadIdEv";
using ThreadIdFunction = uint64_t (*)();

// c10::GradMode::is_enabled()
constexpr char kGradModeSymbol[] = "_ZN3c108GradMode10is_enabledEv";

// Set once before the imports are redirected.
[[PEAKLINE_HOT_DATA]] ReportFunction g_real_report = nullptr;
[[PEAKLINE_HOT_DATA]] SequenceFunction g_real_sequence = nullptr;
[[PEAKLINE_HOT_DATA]] ThreadIdFunction g_autograd_thread_id = nullptr;
torch_part::Part g_part;

uint32_t stream_id(ThreadState& state, uint64_t handle, uint32_t device) {
    if (handle == torch_part::kCurrentStream) [[likely]] {
        return current_stream(g_part, state, device);
    }
    return stream_of(g_part, handle, device);
}

// For a block that torch was only observed to make, or that the allocator made itself (when it
// restores a graph pool).
[[gnu::noinline, gnu::cold]] void begin_observed_slow(Recorder& recorder,
                                                      ThreadState& state,
                                                      uint64_t bytes) {
    state.pending = capture::PendingAlloc{
        torch_part::kNoAlloc, context_now(recorder, state), bytes, torch_part::kCurrentStream};
}

[[gnu::flatten]] void record_reported_block(void* address,
                                            uint64_t bytes,
                                            uint64_t total,
                                            uint32_t device) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    if (state == nullptr) {
        return;
    }
    if (state->pending.progress != torch_part::kNoAlloc) [[likely]] {
        state->pending.progress = torch_part::kAllocReported;
    } else {
        begin_observed_slow(recorder, *state, bytes);
    }
    AllocEvent event{reinterpret_cast<uint64_t>(address),
                     state->pending.requested_bytes,
                     bytes,
                     state->pending.context,
                     stream_id(*state, state->pending.stream, device),
                     device};
    if (state->traced.address == event.address) [[unlikely]] {
        event.requested_bytes = state->traced.requested_bytes;
        event.stream = recorder.table().intern_stream(state->traced.stream);
        state->traced.address = 0;
    }
    state->completed_address = 0;  // the address may be in use again
    recorder.record_alloc(event, total);
}

[[gnu::flatten]] void record_reported_free(void* address, uint64_t total, uint32_t device) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    const auto freed = reinterpret_cast<uint64_t>(address);
    // With a tracker, an ordinary free was reported as complete just before. If not, the block
    // still waits for another stream.
    const bool completed = state == nullptr || !has_tracker() || state->completed_address == freed;
    recorder.record_free(freed,
                         device,
                         completed ? Recorder::FreeKind::kCompleted : Recorder::FreeKind::kDeferred,
                         total,
                         context_of_free(recorder, state));
    if (state != nullptr) {
        state->completed_address = 0;
    }
}

[[gnu::hot]] void report_hook(
    void* address, int64_t bytes, size_t total, size_t reserved, uint16_t device) {
    if ((device & 0xFF) == kCudaDeviceType && address != nullptr) [[likely]] {
        const auto index = static_cast<uint32_t>(device >> 8);
        check_reserved(index, reserved);
        if (bytes > 0) {
            record_reported_block(address, static_cast<uint64_t>(bytes), total, index);
        } else if (bytes < 0) [[likely]] {
            record_reported_free(address, total, index);
        }
    }
    g_real_report(address, bytes, total, reserved, device);
}

[[gnu::hot]] uint64_t sequence_hook() {
    const uint64_t sequence = g_real_sequence();
    Recorder& recorder = Recorder::instance();
    if (recorder.is_tracing()) {
        ThreadState* state = capture::thread_state(recorder.table());
        uint32_t flags = 0;
        hook_new_libraries_if_due();  // with the observer backend begin_alloc is never called
        if (state != nullptr) {
            uint32_t node = capture::capture_python(recorder.table(), *state, &flags);
            if (node == 0 || state->node_depth != 0 || state->is_engine_thread) {
                node = capture::stack_of_new_node(recorder.table(), *state, node);
            }
            if (state->sequences == nullptr) {
                capture::begin_sequences(*state, g_autograd_thread_id());
            }
            capture::remember_sequence(*state, sequence, node);
            mark_graph_if_new(*state);
        }
    }
    return sequence;
}

[[gnu::hot]] uint32_t* begin_alloc(size_t requested_bytes, uint64_t stream) {
    if (wants_tracker() && g_part.attach_tracker != nullptr) {
        g_part.attach_tracker();
    }
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    if (state == nullptr || requested_bytes == 0) {
        return nullptr;
    }
    hook_new_libraries_if_due();
    state->pending = capture::PendingAlloc{
        torch_part::kAllocBegun, context_now(recorder, *state), requested_bytes, stream};
    return &state->pending.progress;
}

void unreported_alloc(void* address, int device, void* stream) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    if (state == nullptr) {
        return;
    }
    const uint64_t bytes = state->pending.requested_bytes;
    recorder.record_alloc(
        AllocEvent{reinterpret_cast<uint64_t>(address),
                   bytes,
                   bytes,
                   state->pending.context,
                   recorder.table().intern_stream(reinterpret_cast<uint64_t>(stream)),
                   static_cast<uint32_t>(device < 0 ? 0 : device)},
        record::kUnknownTotal);
}

void block_freed(void* address, int) {
    if (address != nullptr) {
        Recorder& recorder = Recorder::instance();
        ThreadState* state = capture::thread_state(recorder.table());
        recorder.record_unreported_free(reinterpret_cast<uint64_t>(address),
                                        context_of_free(recorder, state));
    }
}

void traced_alloc(uint64_t address, uint64_t requested_bytes, void* stream) {
    ThreadState* state = capture::thread_state(Recorder::instance().table());
    if (state != nullptr) {
        state->traced =
            capture::TracedAlloc{address, requested_bytes, reinterpret_cast<uint64_t>(stream)};
    }
}

void free_completed(uint64_t address) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    if (state != nullptr) {
        state->completed_address = address;
    }
    // Only a block freed earlier is waiting for this.
    recorder.record_free_completed(address);
}

void out_of_memory(int device,
                   uint64_t requested_bytes,
                   uint64_t device_free_bytes,
                   uint64_t limit_bytes) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = capture::thread_state(recorder.table());
    if (state != nullptr) {
        capture::PendingAlloc& pending = state->pending;
        const bool is_in_call = pending.progress != torch_part::kNoAlloc;
        const auto number = static_cast<uint32_t>(device);
        const uint64_t stream = is_in_call ? pending.stream : torch_part::kCurrentStream;
        recorder.record_out_of_memory({is_in_call ? pending.context : context_now(recorder, *state),
                                       number,
                                       requested_bytes,
                                       device_free_bytes},
                                      {is_in_call ? pending.requested_bytes : requested_bytes,
                                       stream_id(*state, stream, number),
                                       limit_bytes},
                                      pool_of(g_part, stream, number));
        if (is_in_call) {
            pending.progress = torch_part::kAllocRefused;
        }
    }
    capture::object_side().request_safe_point(capture::SafePoint::kOutOfMemory);
}

bool find_real_functions(const char** reason) {
    g_real_report =
        reinterpret_cast<ReportFunction>(capture::find_in_loaded("libc10.so", kReportSymbol));
    g_real_sequence = reinterpret_cast<SequenceFunction>(
        capture::find_in_loaded("libtorch_cpu.so", kSequenceSymbol));
    g_autograd_thread_id = reinterpret_cast<ThreadIdFunction>(
        capture::find_in_loaded("libtorch_cpu.so", kThreadIdSymbol));
    capture::set_grad_mode(
        reinterpret_cast<bool (*)()>(capture::find_in_loaded("libc10.so", kGradModeSymbol)));
    if (g_real_report == nullptr) {
        *reason = "c10::reportMemoryUsageToProfiler is not in libc10.so";
        return false;
    }
    return true;
}

}  // namespace

const torch_part::Host& torch_host() {
    static const torch_part::Host host{torch_part::kInterfaceVersion,
                                       begin_alloc,
                                       unreported_alloc,
                                       block_freed,
                                       tracker_is_attached,
                                       traced_alloc,
                                       free_completed,
                                       record_mapped_segment,
                                       allocator_called,
                                       settings_given,
                                       out_of_memory,
                                       begin_node,
                                       end_node,
                                       begin_scope,
                                       end_scope};
    return host;
}

torch_part::Part& torch_part_slot() {
    return g_part;
}

bool hook_autograd(const char** reason) {
    if (g_real_report == nullptr && (!init_operator_names() || !find_real_functions(reason))) {
        return false;
    }
    hook_engine(g_part);
    hook_saved_tensors(g_part);
    if (g_real_sequence != nullptr && g_autograd_thread_id != nullptr) {
        add_library_hook(kSequenceSymbol, reinterpret_cast<void*>(sequence_hook));
    }
    hook_all_libraries_slow();
    return true;
}

bool hook_torch_imports(const char** reason) {
    if (!hook_autograd(reason)) {
        return false;
    }
    const int slots = capture::redirect_imports(
        kReportSymbol, "libc10_cuda", reinterpret_cast<void*>(report_hook));
    static bool report_hooked = false;
    report_hooked = report_hooked || slots > 0;
    if (!report_hooked) {
        *reason = "libc10_cuda.so does not import c10::reportMemoryUsageToProfiler";
        return false;
    }
    hook_segment_imports(g_part);
    hook_settings(g_part);
    add_stream_hook();
    hook_all_libraries_slow();
    hook_nccl_slow();
    return true;
}

}  // namespace peakline::preload
