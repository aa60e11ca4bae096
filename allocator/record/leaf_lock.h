// The only kind of lock in the recorder. Holding one, we call nobody else's code: not CUDA, not
// Python, not malloc. Uncontended it is one atomic exchange; contended it sleeps in the kernel.
// Source: U. Drepper, "Futexes Are Tricky", the third mutex.
#pragma once

#include <atomic>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace peakline::record {

class LeafLock {
public:
    void lock() {
        uint32_t seen = kFree;
        // acquire: what the last holder wrote is visible; the release in unlock() pairs with it.
        if (!state_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) {
            lock_slow(seen);
        }
    }

    void unlock() {
        if (state_.exchange(kFree, std::memory_order_release) == kContended) {
            futex(FUTEX_WAKE_PRIVATE, 1);
        }
    }

    // In the child of fork only: its copy may be held by a thread that does not exist there.
    void reset_after_fork() { state_.store(kFree, std::memory_order_relaxed); }

private:
    static constexpr uint32_t kFree = 0;
    static constexpr uint32_t kHeld = 1;
    static constexpr uint32_t kContended = 2;
    static constexpr int kSpins = 100;

    void lock_slow(uint32_t seen) {
        for (int i = 0; i < kSpins; ++i) {
            seen = kFree;
            if (state_.compare_exchange_weak(seen, kHeld, std::memory_order_acquire)) {
                return;
            }
            __builtin_ia32_pause();
        }
        while (state_.exchange(kContended, std::memory_order_acquire) != kFree) {
            futex(FUTEX_WAIT_PRIVATE, kContended);
        }
    }

    void futex(int operation, uint32_t value) {
        // std::atomic<uint32_t> has the layout of uint32_t on every platform we support.
        syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
    }

    std::atomic<uint32_t> state_{kFree};
};

class LockGuard {
public:
    explicit LockGuard(LeafLock& lock) : lock_(lock) { lock_.lock(); }
    ~LockGuard() { lock_.unlock(); }
    LockGuard(const LockGuard&) = delete;
    LockGuard& operator=(const LockGuard&) = delete;

private:
    LeafLock& lock_;
};

}  // namespace peakline::record
