#include "page_guard.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/record/tables/leaf_lock.h"
#include "allocator/record/tables/signals_blocked.h"

// glibc's own name for sigaction: the preloaded library replaces the other one.
extern "C" int __sigaction(int signal, const struct sigaction* wanted, struct sigaction* before);

namespace peakline::record::page_guard {
namespace {

constexpr uintptr_t kPageBytes = 4096;

struct Range {
    std::atomic<uintptr_t> begin{0};  // 0: free
    std::atomic<uintptr_t> end{0};
};

// Changed under the lock, with signals blocked, and read by the handler. A new action is written
// into the slot that no handler reads, then the index changes.
LeafLock g_lock;
std::array<Range, kMaxRanges> g_ranges;
std::array<struct sigaction, 2> g_actions;
std::atomic<unsigned> g_action{0};
std::atomic<bool> g_is_taken{false};
std::atomic<bool> g_is_lost{false};

bool is_watched(uintptr_t address) {
    for (const Range& range : g_ranges) {
        // acquire: pairs with watch(), whose end is stored first.
        const uintptr_t begin = range.begin.load(std::memory_order_acquire);
        if (begin != 0 && address >= begin && address < range.end.load(std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

// Makes system calls only: the program may be in any state. Zeros replace the file's bytes.
bool replace_page(uintptr_t address) {
    const uintptr_t page = address & ~(kPageBytes - 1);
    return mmap(reinterpret_cast<void*>(page),
                kPageBytes,
                PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                -1,
                0) != MAP_FAILED;
}

void set_default(int signal) {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    __sigaction(signal, &standard, nullptr);
}

// Acts as the kernel would: the default action ends the process when the instruction runs again; a
// signal sent by a process is sent again.
void act_by_default(int signal, const siginfo_t& info) {
    set_default(signal);
    if (info.si_code <= 0) {
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    }
}

void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction action = g_actions[g_action.load(std::memory_order_acquire)];
    if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
        set_default(signal);  // for the next signal
    }
    if ((action.sa_flags & SA_SIGINFO) != 0) {
        action.sa_sigaction(signal, info, context);
    } else if (action.sa_handler == SIG_DFL ||
               (action.sa_handler == SIG_IGN && info->si_code > 0)) {
        act_by_default(signal, *info);
    } else if (action.sa_handler != SIG_IGN) {
        action.sa_handler(signal);
    }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
    const int errno_before = errno;
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    // Above 0: the kernel raised it, so the address is valid.
    if (info->si_code > 0 && is_watched(address) && replace_page(address)) {
        g_is_lost.store(true, std::memory_order_relaxed);
        errno = errno_before;
        return;
    }
    errno = errno_before;
    pass_on(signal, info, context);
}

// Our action, with the flags and mask that the program chose for the kernel to apply before a
// handler runs. SA_RESETHAND would remove it after the first signal.
struct sigaction our_action(const struct sigaction& wanted) {
    struct sigaction ours = wanted;
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = (wanted.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO;
    return ours;
}

void keep_program_action(const struct sigaction& action) {
    const unsigned other = 1 - g_action.load(std::memory_order_relaxed);
    g_actions[other] = action;
    // release: a handler that sees the index sees the action.
    g_action.store(other, std::memory_order_release);
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

void forget_ranges() {
    for (Range& range : g_ranges) {
        range.begin.store(0, std::memory_order_relaxed);
    }
}

// Call it under the lock.
void take_signal() {
    struct sigaction now {};
    __sigaction(SIGBUS, nullptr, &now);
    if (is_ours(now)) {
        return;
    }
    keep_program_action(now);
    const struct sigaction ours = our_action(now);
    __sigaction(SIGBUS, &ours, nullptr);
    g_is_taken.store(true, std::memory_order_relaxed);
}

void give_signal_back() {
    struct sigaction now {};
    g_is_taken.store(false, std::memory_order_relaxed);
    __sigaction(SIGBUS, nullptr, &now);
    if (is_ours(now)) {
        __sigaction(SIGBUS, &g_actions[g_action.load(std::memory_order_relaxed)], nullptr);
    }
}

}  // namespace

void begin() {
    const SignalsBlocked blocked;
    const LockGuard guard(g_lock);
    forget_ranges();
    g_is_lost.store(false, std::memory_order_relaxed);
    take_signal();
}

void end() {
    const SignalsBlocked blocked;
    const LockGuard guard(g_lock);
    forget_ranges();
    if (g_is_taken.load(std::memory_order_relaxed)) {
        give_signal_back();
    }
}

void end_in_child() {
    g_lock.reset_after_fork();
    end();
}

bool watch(void* begin, size_t bytes) {
    const SignalsBlocked blocked;
    const LockGuard guard(g_lock);
    take_signal();
    const auto address = reinterpret_cast<uintptr_t>(begin);
    for (Range& range : g_ranges) {
        if (range.begin.load(std::memory_order_relaxed) == 0) {
            range.end.store(address + bytes, std::memory_order_relaxed);
            // release: a handler that sees the begin sees the end.
            range.begin.store(address, std::memory_order_release);
            return true;
        }
    }
    return false;
}

void unwatch(void* begin) {
    for (Range& range : g_ranges) {
        auto address = reinterpret_cast<uintptr_t>(begin);
        range.begin.compare_exchange_strong(address, 0, std::memory_order_relaxed);
    }
}

bool is_lost() {
    return g_is_lost.load(std::memory_order_relaxed);
}

bool program_action(const struct sigaction* wanted, struct sigaction* before) {
    const SignalsBlocked blocked;
    const LockGuard guard(g_lock);
    if (!g_is_taken.load(std::memory_order_relaxed)) {
        return false;
    }
    take_signal();  // another library may have set a handler directly
    const struct sigaction last = g_actions[g_action.load(std::memory_order_relaxed)];
    if (wanted != nullptr) {
        keep_program_action(*wanted);
        const struct sigaction ours = our_action(*wanted);
        __sigaction(SIGBUS, &ours, nullptr);
    }
    if (before != nullptr) {
        *before = last;
    }
    return true;
}

}  // namespace peakline::record::page_guard
