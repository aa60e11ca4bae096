#include "thread_scratch.h"

#include <ctime>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/capture/threads/thread_blocks.h"

namespace peakline::pyhook {

constinit thread_local ThreadScratch* g_own_scratch = nullptr;

namespace {

void set_own(ThreadScratch* scratch) {
    g_own_scratch = scratch;
}
using Scratches = capture::ThreadBlocks<ThreadScratch, set_own>;

// Makes every running thread pass a full memory barrier.
void barrier_on_all_threads() {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
        // Kernel before 4.14, or a sandbox: a store leaves its buffer long before this pause ends.
        const timespec pause = {.tv_sec = 0, .tv_nsec = 2'000'000};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace

bool init_thread_scratch() {
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    return Scratches::make_key();
}

ThreadScratch* take_scratch_slow() {
    return Scratches::take_slow();
}

void wait_for_captures_slow() {
    constexpr int kMaxPauses = 10'000;
    const timespec pause = {.tv_sec = 0, .tv_nsec = 100'000};
    barrier_on_all_threads();
    int pauses = 0;
    Scratches::visit_all([&](const ThreadScratch& scratch) {
        // acquire: pairs with the end of each capture.
        while (&scratch != g_own_scratch &&
               scratch.is_capturing.load(std::memory_order_acquire) != 0 && pauses < kMaxPauses) {
            nanosleep(&pause, nullptr);
            ++pauses;
        }
    });
}

void free_scratch_of_lost_threads() {
    Scratches::visit_all([](ThreadScratch& scratch) {
        if (&scratch != g_own_scratch) {
            scratch.is_capturing.store(0, std::memory_order_relaxed);
        }
    });
    Scratches::free_others(g_own_scratch);
}

}  // namespace peakline::pyhook
