// The hook bodies for torch: they run when torch reports a block, takes an autograd sequence
// number, allocates through the delegate, or runs a backward node. They may open a scope, call the
// real function and call the recorder. They take no lock, use no heap, print nothing and never
// wait.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// c10::reportMemoryUsageToProfiler(void*, int64_t, size_t, size_t, c10::Device). c10::Device is two
// int8_t (type, index) and travels in one register.
inline constexpr char kReportSymbol[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
using ReportFunction = void (*)(void*, int64_t, size_t, size_t, uint16_t);

// The context of a block that this thread allocates.
inline uint32_t context_now(record::Recorder& recorder, capture::ThreadState& state) {
    if (recorder.is_tracing()) [[likely]] {
        return capture::capture_context(recorder.table(), state);
    }
    return recorder.untraced_context();
}

// The context of a free on this thread; 0 when stacks of frees are not recorded.
inline uint32_t context_of_free(record::Recorder& recorder, capture::ThreadState* state) {
    if (state == nullptr || !recorder.is_tracing()) [[unlikely]] {
        return 0;
    }
    return capture::capture_free(recorder.table(), *state);
}

// The table the torch part calls. Valid for the life of the process.
const torch_part::Host& torch_host();

// The slot for the functions that the torch part offers.
torch_part::Part& torch_part_slot();

// Hooks backward passes, nodes and scopes, for every device; hook_torch_imports() calls it, too.
bool hook_autograd(const char** reason);

// Redirects torch's two functions to the hooks in every loaded library. Call again after libraries
// were loaded. Returns false when torch's libraries lack them; `reason` then names them.
bool hook_torch_imports(const char** reason);

}  // namespace peakline::preload
