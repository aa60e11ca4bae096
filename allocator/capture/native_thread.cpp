#include "native_thread.h"

#include <atomic>
#include <new>

#include <pthread.h>
#include <sys/mman.h>

namespace peakline::capture {

constinit thread_local NativeThread* g_native_thread = nullptr;

namespace {

// Given back by ended threads. Without a lock, so that a fork needs no care: one is taken by
// taking the whole list and putting the rest back, which knows no ABA.
std::atomic<NativeThread*> g_free_threads{nullptr};
pthread_key_t g_exit_key;
pthread_once_t g_exit_key_once = PTHREAD_ONCE_INIT;

void put_free(NativeThread* thread) {
    NativeThread* next = g_free_threads.load(std::memory_order_relaxed);
    do {
        thread->next_free = next;
        // release: its last owner's writes are visible to the next one.
    } while (!g_free_threads.compare_exchange_weak(
        next, thread, std::memory_order_release, std::memory_order_relaxed));
}

NativeThread* take_free() {
    // acquire: pairs with put_free.
    NativeThread* taken = g_free_threads.exchange(nullptr, std::memory_order_acquire);
    if (taken == nullptr) {
        return nullptr;
    }
    for (NativeThread* rest = taken->next_free; rest != nullptr;) {
        NativeThread* next = rest->next_free;
        put_free(rest);
        rest = next;
    }
    return taken;
}

// Runs when a thread ends. A capture later in the thread's end takes one again, and this runs
// again for it (up to PTHREAD_DESTRUCTOR_ITERATIONS times; after that one stays in use).
void give_back(void* pointer) {
    g_native_thread = nullptr;
    put_free(static_cast<NativeThread*>(pointer));
}

void make_exit_key() {
    pthread_key_create(&g_exit_key, give_back);
}

NativeThread* map_new() {
    void* memory = mmap(nullptr,
                        sizeof(NativeThread),
                        PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto* thread = new (memory) NativeThread;
    thread->has_memo = thread->memo.init(kMemoSets);
    return thread;
}

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
    pthread_once(&g_exit_key_once, make_exit_key);
    NativeThread* thread = take_free();
    if (thread == nullptr) {
        thread = map_new();
        if (thread == nullptr) {
            return nullptr;
        }
    }
    thread->memo.clear();
    thread->bounds = find_bounds();
    thread->is_capturing = false;
    thread->captures_to_loader_check = kCapturesPerLoaderCheck;
    thread->libraries_added = kNeverAsked;
    thread->counts = NativeCounts{};
    g_native_thread = thread;
    pthread_setspecific(g_exit_key, thread);
    return thread;
}

}  // namespace peakline::capture
