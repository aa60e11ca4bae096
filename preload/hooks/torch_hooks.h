// The hook bodies for torch: what runs when torch reports a block, takes an autograd sequence
// number, allocates through the delegate, or runs a backward node. They may open a scope, call the
// real function and call the recorder; no lock of theirs, no heap, no print, no waiting.
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

// Of a block that is made on this thread.
inline uint32_t context_now(record::Recorder& recorder, capture::ThreadState& state) {
    if (recorder.is_tracing()) [[likely]] {
        return capture::capture_context(recorder.table(), state);
    }
    return recorder.untraced_context();
}

// Of a block that the program frees; 0: the recording does not want to know.
inline uint32_t context_of_free(record::Recorder& recorder, capture::ThreadState* state) {
    if (state == nullptr || !recorder.is_tracing()) [[unlikely]] {
        return 0;
    }
    return capture::capture_free(recorder.table(), *state);
}

// The table the torch part calls. Valid for the life of the process.
const torch_part::Host& torch_host();

// Where the part puts what it offers in return.
torch_part::Part& torch_part_slot();

// Follows backward passes, nodes and scopes, whatever the device; hook_torch_imports() does it,
// too.
bool hook_autograd(const char** reason);

// Redirects torch's two functions to the hooks in every loaded library. Call again after
// libraries were loaded. False when torch's libraries do not have them; `reason` then says which.
bool hook_torch_imports(const char** reason);

}  // namespace peakline::preload
