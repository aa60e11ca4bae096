// The only kind of lock in the recorder. Holding one, we call nobody else's code: not CUDA, not
// Python, not malloc. Without contention it costs one atomic exchange and one store. It is held for
// some 50 ns, so a waiter spins. If the holder was put to sleep, the waiter sleeps too and tries
// again by itself: a release that wakes waiters would need a second atomic exchange per event.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace peakline::record {

class LeafLock {
public:
    void lock() {
        // acquire: the last holder's stores are visible; the release in unlock() pairs with it.
        if (__builtin_expect(state_.exchange(kHeld, std::memory_order_acquire) != kFree, 0)) {
            lock_slow(kForEver);
        }
    }

    // For a thread that may already hold the lock, as in a signal handler: waits about a fifth of a
    // second, which is for ever for a lock held for some 50 ns. False: it did not get the lock.
    bool lock_patiently() {
        return state_.exchange(kHeld, std::memory_order_acquire) == kFree || lock_slow(kPatience);
    }

    void unlock() { state_.store(kFree, std::memory_order_release); }

    // In the child of fork only: its copy may be held by a thread that does not exist there.
    void reset_after_fork() { state_.store(kFree, std::memory_order_relaxed); }

private:
    static constexpr uint32_t kFree = 0;
    static constexpr uint32_t kHeld = 1;
    static constexpr int kSpins = 100;
    static constexpr long kSleepNs = 50'000;
    static constexpr uint32_t kPatience = 2000;  // sleeps; each takes twice its time
    static constexpr uint32_t kForEver = UINT32_MAX;

    [[gnu::noinline, gnu::cold]] bool lock_slow(uint32_t sleeps) {
        for (;;) {
            for (int i = 0; i < kSpins; ++i) {
                // relaxed: only a test; the exchange after it acquires.
                if (state_.load(std::memory_order_relaxed) == kFree &&
                    state_.exchange(kHeld, std::memory_order_acquire) == kFree) {
                    return true;
                }
                __builtin_ia32_pause();
            }
            if (sleeps == 0) {
                return false;
            }
            sleeps -= sleeps == kForEver ? 0 : 1;
            // Nobody wakes us: returns after the time, or at once if the lock was released.
            const timespec time{0, kSleepNs};
            syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kHeld, &time, nullptr, 0);
        }
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
