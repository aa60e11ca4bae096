#include "thread_scratch.h"

#include <ctime>

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace peakline::pyhook {

constinit thread_local ThreadScratch* g_own_scratch = nullptr;

namespace {

pthread_key_t g_release_key;
// All blocks. Pushed to, never removed from.
std::atomic<ThreadScratch*> g_blocks{nullptr};
// Free blocks, a stack: address in the low 48 bits, above it a count of changes, so that a block
// that was taken and given back between a load and its exchange is noticed.
std::atomic<uint64_t> g_free{0};

constexpr unsigned kAddressBits = 48;
constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;

ThreadScratch* block_of(uint64_t tagged) {
    return reinterpret_cast<ThreadScratch*>(tagged & kAddressMask);
}

uint64_t retagged(uint64_t old, const ThreadScratch* block) {
    const uint64_t next_count = (old >> kAddressBits) + 1;
    return next_count << kAddressBits | reinterpret_cast<uint64_t>(block);
}

void push_free(ThreadScratch* block) {
    // relaxed: the value is checked by the exchange.
    uint64_t head = g_free.load(std::memory_order_relaxed);
    do {
        block->next_free.store(block_of(head), std::memory_order_relaxed);
        // release: whoever takes the block sees next_free.
    } while (!g_free.compare_exchange_weak(
        head, retagged(head, block), std::memory_order_release, std::memory_order_relaxed));
}

ThreadScratch* pop_free() {
    // acquire: pairs with the release in push_free.
    uint64_t head = g_free.load(std::memory_order_acquire);
    while (ThreadScratch* const block = block_of(head)) {
        // The block may be taken by another thread meanwhile; blocks are never unmapped, so the
        // load is safe, and the exchange fails.
        ThreadScratch* const next = block->next_free.load(std::memory_order_relaxed);
        if (g_free.compare_exchange_weak(
                head, retagged(head, next), std::memory_order_acquire, std::memory_order_acquire)) {
            return block;
        }
    }
    return nullptr;
}

ThreadScratch* map_block() {
    void* const memory = mmap(nullptr,
                              sizeof(ThreadScratch),
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1,
                              0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto* const block = static_cast<ThreadScratch*>(memory);  // zero is the right initial state
    block->next_block = g_blocks.load(std::memory_order_relaxed);
    // release: whoever finds the block in the list sees its next_block.
    while (!g_blocks.compare_exchange_weak(
        block->next_block, block, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return block;
}

// At the end of a thread. A destructor of the program that runs later may capture again: it gets
// a block anew, and pthread calls us once more.
void release_block(void* block) {
    g_own_scratch = nullptr;
    push_free(static_cast<ThreadScratch*>(block));
}

// Makes every running thread pass a full memory barrier.
void barrier_on_all_threads() {
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
        // Kernels before 4.14, or a sandbox: a store leaves its buffer long before this ends.
        const timespec pause = {.tv_sec = 0, .tv_nsec = 2'000'000};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace

bool init_thread_scratch() {
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    return pthread_key_create(&g_release_key, release_block) == 0;
}

ThreadScratch* take_scratch_slow() {
    ThreadScratch* block = pop_free();
    if (block == nullptr) {
        block = map_block();
    }
    if (block != nullptr) {
        // May allocate once per thread when the program uses more than 32 keys. A failure loses
        // this block at the end of the thread, nothing else.
        pthread_setspecific(g_release_key, block);
        g_own_scratch = block;
    }
    return block;
}

void wait_for_captures_slow() {
    constexpr int kMaxPauses = 10'000;
    const timespec pause = {.tv_sec = 0, .tv_nsec = 100'000};
    barrier_on_all_threads();
    int pauses = 0;
    // acquire: pairs with the release of g_blocks, and with the end of each capture.
    for (ThreadScratch* block = g_blocks.load(std::memory_order_acquire); block != nullptr;
         block = block->next_block) {
        while (block != g_own_scratch && block->is_capturing.load(std::memory_order_acquire) != 0 &&
               pauses < kMaxPauses) {
            nanosleep(&pause, nullptr);
            ++pauses;
        }
    }
}

void free_scratch_of_lost_threads() {
    g_free.store(0, std::memory_order_relaxed);  // only this thread exists
    for (ThreadScratch* block = g_blocks.load(std::memory_order_relaxed); block != nullptr;
         block = block->next_block) {
        if (block != g_own_scratch) {
            block->is_capturing.store(0, std::memory_order_relaxed);
            push_free(block);
        }
    }
}

}  // namespace peakline::pyhook
