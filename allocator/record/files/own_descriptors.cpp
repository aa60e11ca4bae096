#include "own_descriptors.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include <linux/close_range.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/record/tables/signals_blocked.h"

namespace peakline::record {
namespace {

constexpr size_t kStackBytes = size_t{64} << 10;
// Flags of a thread, without CLONE_SETLTS: it borrows the thread data of the caller, which waits.
constexpr int kThreadFlags =
    CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
constexpr uint32_t kRunning = 1;

struct Job {
    void (*work)(void*);
    void* argument;
    KeptDescriptors kept;
    bool has_table;  // the thread has its table from clone; else it makes it
    bool is_done;
};

// Linux 5.9: leaves the shared table and copies only the descriptors below the range. So a program
// with many open files pays nothing, and no file system has to flush one.
bool leave_shared_table(KeptDescriptors kept) {
    return syscall(SYS_close_range, static_cast<unsigned>(kept), UINT_MAX, CLOSE_RANGE_UNSHARE) ==
           0;
}

int run_job(void* data) {
    Job& job = *static_cast<Job*>(data);
    if (job.has_table || leave_shared_table(job.kept)) {
        job.work(job.argument);
        job.is_done = true;
    }
    return 0;
}

// Waits until the kernel has cleared the word: then the thread no longer uses its stack.
void wait_for_end(std::atomic<uint32_t>& word) {
    // acquire: the work's stores are visible; the kernel's store comes after them.
    for (uint32_t value = word.load(std::memory_order_acquire); value != 0;
         value = word.load(std::memory_order_acquire)) {
        syscall(SYS_futex, &word, FUTEX_WAIT, value, nullptr, nullptr, 0);
    }
}

int run_on_thread(Job& job, char* stack, int flags) {
    std::atomic<uint32_t> word{kRunning};
    auto* const top = stack + kStackBytes;
    if (clone(run_job, top, flags, &job, nullptr, nullptr, &word) < 0) {
        return errno;
    }
    wait_for_end(word);
    return 0;
}

// Older kernels and some sandboxes have no close_range: there the whole table is copied.
int run_with_either_table(Job& job, char* stack) {
    // relaxed: a hint; every thread may find out for itself.
    static std::atomic<bool> copies_table{false};
    if (!copies_table.load(std::memory_order_relaxed)) {
        const int error = run_on_thread(job, stack, kThreadFlags | CLONE_FILES);
        if (error != 0 || job.is_done) {
            return error;
        }
        copies_table.store(true, std::memory_order_relaxed);
    }
    job.has_table = true;
    return run_on_thread(job, stack, kThreadFlags);
}

}  // namespace

int run_with_own_descriptors(KeptDescriptors kept, void (*work)(void*), void* argument) {
    const int errno_before = errno;
    void* stack = mmap(nullptr,
                       kStackBytes,
                       PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE,
                       -1,
                       0);
    if (stack == MAP_FAILED) {
        errno = errno_before;
        return ENOMEM;
    }
    // open() and similar calls are cancellation points of the caller, whose thread data they use.
    int cancel_state = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    int error = 0;
    {
        const SignalsBlocked blocked;
        Job job{work, argument, kept, false, false};
        error = run_with_either_table(job, static_cast<char*>(stack));
    }
    pthread_setcancelstate(cancel_state, nullptr);
    munmap(stack, kStackBytes);
    errno = errno_before;
    return error;
}

}  // namespace peakline::record
