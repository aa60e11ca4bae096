#include "native_thread.h"

#include <pthread.h>

#include "allocator/capture/threads/thread_blocks.h"

namespace peakline::capture {

constinit thread_local NativeThread* g_native_thread = nullptr;

namespace {

void set_own(NativeThread* thread) {
    g_native_thread = thread;
}
using NativeThreads = ThreadBlocks<NativeThread, set_own>;

// Once per thread: for the main thread glibc reads /proc/self/maps.
StackBounds find_bounds() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return {};
    }
    void* low = nullptr;
    size_t bytes = 0;
    StackBounds bounds;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        bounds.low = reinterpret_cast<uint64_t>(low);
        bounds.high = bounds.low + bytes;
    }
    pthread_attr_destroy(&attributes);
    return bounds;
}

}  // namespace

NativeThread* native_thread_slow() {
    NativeThread* const thread = NativeThreads::take_slow();
    if (thread == nullptr) {
        return nullptr;
    }
    thread->has_memo = thread->has_memo || thread->memo.init(kMemoSets);
    thread->memo.clear();
    thread->bounds = find_bounds();
    thread->is_capturing = false;
    thread->captures_to_loader_check = kCapturesPerLoaderCheck;
    thread->libraries_added = kNeverAsked;
    thread->counts = NativeCounts{};
    return thread;
}

void free_native_state_of_lost_threads() {
    NativeThreads::free_others(g_native_thread);
}

}  // namespace peakline::capture
