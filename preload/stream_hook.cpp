#include "stream_hook.h"

#include <atomic>

#include "allocator/capture/got_patch.h"
#include "allocator/record/hot_data.h"
#include "segment_hooks.h"

namespace peakline::preload {

[[PEAKLINE_HOT_DATA]] std::atomic<uint64_t> g_stream_hook_libraries{capture::kUnknownLibraries};

namespace {

// c10::cuda::setCurrentCUDAStream(c10::cuda::CUDAStream): two words, device and stream id, that
// travel in registers.
constexpr char kSymbol[] = "_ZN3c104cuda20setCurrentCUDAStreamENS0_10CUDAStreamE";
using SetStreamFunction = void (*)(uint64_t, uint64_t);
constexpr uint32_t kFirstWait = 256;

// Set once before the imports are redirected.
[[PEAKLINE_HOT_DATA]] SetStreamFunction g_real_set_stream = nullptr;
// relaxed: a hint; two threads that redirect at once do the same.
std::atomic<uint32_t> g_allocations_to_wait{kFirstWait};
std::atomic<uint32_t> g_next_wait{2 * kFirstWait};

// The engine sets what is set already, twice for each of its nodes: that changes nothing, if every
// call since was seen.
void note_set_stream(capture::KnownStream& known, uint64_t device, uint64_t stream) {
    const uint64_t added = capture::libraries_added();
    if (known.set_device == device && known.set_stream == stream && known.set_libraries == added &&
        added != capture::kUnknownLibraries) [[likely]] {
        return;
    }
    const bool all_are_seen = added == g_stream_hook_libraries.load(std::memory_order_relaxed);
    known.libraries = capture::kUnknownLibraries;
    known.set_libraries = all_are_seen ? added : capture::kUnknownLibraries;
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

void hook_stream_changes() {
    // Before the imports are looked at: what is loaded meanwhile has another count.
    const uint64_t added = capture::libraries_added();
    static bool is_imported_at_home = false;
    if (g_real_set_stream == nullptr) {
        g_real_set_stream =
            reinterpret_cast<SetStreamFunction>(capture::find_in_loaded("libc10_cuda.so", kSymbol));
    }
    if (g_real_set_stream == nullptr) {
        return;
    }
    void* const hook = reinterpret_cast<void*>(set_stream_hook);
    is_imported_at_home =
        is_imported_at_home || capture::redirect_imports(kSymbol, "libc10_cuda", hook) > 0;
    capture::redirect_imports(kSymbol, "", hook);
    if (is_imported_at_home) {
        g_stream_hook_libraries.store(added, std::memory_order_relaxed);
    }
}

void hook_new_libraries_slow() {
    if (g_stream_hook_libraries.load(std::memory_order_relaxed) == capture::kUnknownLibraries ||
        capture::libraries_added() == capture::kUnknownLibraries) {
        return;
    }
    if (g_allocations_to_wait.fetch_sub(1, std::memory_order_relaxed) == 1) {
        const uint32_t wait = g_next_wait.load(std::memory_order_relaxed);
        g_allocations_to_wait.store(wait, std::memory_order_relaxed);
        g_next_wait.store(wait < UINT32_MAX / 2 ? 2 * wait : wait, std::memory_order_relaxed);
        hook_stream_changes();
    }
}

uint32_t current_stream_slow(const torch_part::Part& part,
                             capture::KnownStream& known,
                             uint32_t device) {
    const uint64_t added = capture::libraries_added();
    const uint32_t id = stream_of(part, torch_part::kCurrentStream, device);
    if (added == g_stream_hook_libraries.load(std::memory_order_relaxed)) {
        known.libraries = added;
        known.device = device;
        known.id = id;
    }
    return id;
}

}  // namespace peakline::preload
