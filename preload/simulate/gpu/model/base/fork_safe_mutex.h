// A mutex that is free in a forked child: fork waits until no thread holds it. Each library has its
// own list of them. Hold it only for a few lines that call nothing outside the simulated GPU.
#pragma once

#include <atomic>
#include <mutex>

#include <pthread.h>

namespace simgpu {

class ForkSafeMutex {
public:
    // Never destroyed, because it stays in the list.
    ForkSafeMutex() {
        [[maybe_unused]] static const int registered =
            pthread_atfork(lock_all, unlock_all, unlock_all);
        next_ = first_.load(std::memory_order_relaxed);
        // release: a thread that finds it in the list also sees its fields.
        while (!first_.compare_exchange_weak(next_, this, std::memory_order_release)) {
        }
    }
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

private:
    static void lock_all() {
        locked_ = first_.load(std::memory_order_acquire);
        for (ForkSafeMutex* at = locked_; at != nullptr; at = at->next_) {
            at->lock();
        }
    }
    // Also runs in the child: its only thread is the one that locked them.
    static void unlock_all() {
        for (ForkSafeMutex* at = locked_; at != nullptr; at = at->next_) {
            at->unlock();
        }
    }

    static inline std::atomic<ForkSafeMutex*> first_{nullptr};
    static inline ForkSafeMutex* locked_ = nullptr;  // Guarded by fork, which runs once at a time.
    std::mutex mutex_;
    ForkSafeMutex* next_ = nullptr;
};

}  // namespace simgpu
