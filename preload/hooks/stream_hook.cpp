#include "stream_hook.h"

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/record/hot_data.h"
#include "library_hooks.h"
#include "segment_hooks.h"

namespace peakline::preload {

namespace {

// c10::cuda::setCurrentCUDAStream(c10::cuda::CUDAStream): the argument is two words, device and
// stream id, passed in registers.
constexpr char kSymbol[] = "_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE";
using SetStreamFunction = void (*)(uint64_t, uint64_t);

// Set once before the imports are redirected.
[[PEAKLINE_HOT_DATA]] SetStreamFunction g_real_set_stream = nullptr;
[[PEAKLINE_HOT_DATA]] bool g_is_hooked_at_home = false;

// Whether every call was hooked since this many libraries were loaded.
bool all_are_seen(uint64_t added) {
    return g_is_hooked_at_home && added == g_hooked_libraries.load(std::memory_order_relaxed);
}

// The engine sets the same stream twice per node. This changes nothing if every call since was
// hooked.
void note_set_stream(capture::KnownStream& known, uint64_t device, uint64_t stream) {
    const uint64_t added = capture::libraries_added();
    if (known.set_device == device && known.set_stream == stream && known.set_libraries == added &&
        added != capture::kUnknownLibraries) [[likely]] {
        return;
    }
    known.libraries = capture::kUnknownLibraries;
    known.set_libraries = all_are_seen(added) ? added : capture::kUnknownLibraries;
    known.set_device = device;
    known.set_stream = stream;
}

[[gnu::hot]] void set_stream_hook(uint64_t device, uint64_t stream) {
    if (capture::ThreadState* const state = capture::g_thread_state) [[likely]] {
        note_set_stream(state->known_stream, device, stream);
    }
    g_real_set_stream(device, stream);
}

}  // namespace

void add_stream_hook() {
    if (g_real_set_stream == nullptr) {
        g_real_set_stream =
            reinterpret_cast<SetStreamFunction>(capture::find_in_loaded("libc10_cuda.so", kSymbol));
    }
    if (g_real_set_stream == nullptr) {
        return;
    }
    void* const hook = reinterpret_cast<void*>(set_stream_hook);
    g_is_hooked_at_home =
        g_is_hooked_at_home || capture::redirect_imports(kSymbol, "libc10_cuda", hook) > 0;
    add_library_hook(kSymbol, hook);
}

uint32_t current_stream_slow(const torch_part::Part& part,
                             capture::KnownStream& known,
                             uint32_t device) {
    const uint64_t added = capture::libraries_added();
    const uint32_t id = stream_of(part, torch_part::kCurrentStream, device);
    if (all_are_seen(added)) {
        known.libraries = added;
        known.device = device;
        known.id = id;
    }
    return id;
}

}  // namespace peakline::preload
