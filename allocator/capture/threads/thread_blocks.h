// Working memory of threads: one block for each thread that needs it. Blocks are mapped, and a
// later thread takes over the block of an ended one, contents included. None is unmapped, so their
// number is the largest number of threads alive at once. It has no locks that a fork or a signal
// handler could find held.
//
// Each kind of block has one static pool and one thread-local pointer, which `SetOwn` sets. The
// pointer has no destructor, so it is safe in frees at the very end of a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include <pthread.h>

#include "allocator/record/tables/mapped_memory.h"

namespace peakline::capture {

template <class Block, void (*SetOwn)(Block*)>
class ThreadBlocks {
public:
    // take_slow() calls it, too. False if the process has no pthread key left: then a block stays
    // in use when its thread ends.
    static bool make_key() {
        pthread_once(&key_once_, [] { has_key_ = pthread_key_create(&key_, release_slow) == 0; });
        return has_key_;
    }

    // A block for a thread that has none; zero if it is new; nullptr without memory.
    static Block* take_slow() {
        const bool has_key = make_key();
        Mapped* mapped = pop_free();
        if (mapped == nullptr) {
            mapped = map_slow();
        }
        if (mapped == nullptr) {
            return nullptr;
        }
        if (has_key) {
            // May allocate once per thread if the program uses more than 32 keys. A failure only
            // loses this block at the end of the thread.
            pthread_setspecific(key_, mapped);
        }
        SetOwn(&mapped->block);
        return &mapped->block;
    }

    // All that were ever mapped.
    template <class Visit>
    static void visit_all(Visit visit) {
        // acquire: pairs with the release in map_slow.
        for (Mapped* mapped = all_.load(std::memory_order_acquire); mapped != nullptr;
             mapped = mapped->next) {
            visit(mapped->block);
        }
    }

    // In the child of fork, which has one thread with `own` (nullptr: none): the other threads'
    // blocks become free.
    static void free_others(const Block* own) {
        free_.store(0, std::memory_order_relaxed);  // only this thread exists
        for (Mapped* mapped = all_.load(std::memory_order_relaxed); mapped != nullptr;
             mapped = mapped->next) {
            if (&mapped->block != own) {
                push_free(mapped);
            }
        }
    }

private:
    struct Mapped {
        Block block;
        Mapped* next;  // of all; set once, before it is published
        std::atomic<Mapped*> next_free;
    };
    static_assert(std::is_aggregate_v<Block>);  // zero memory may stand for one

    static constexpr unsigned kAddressBits = 48;
    static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;

    static Mapped* mapped_of(uint64_t tagged) {
        return reinterpret_cast<Mapped*>(tagged & kAddressMask);
    }
    static uint64_t retagged(uint64_t old, const Mapped* mapped) {
        const uint64_t next_count = (old >> kAddressBits) + 1;
        return next_count << kAddressBits | reinterpret_cast<uint64_t>(mapped);
    }

    static void push_free(Mapped* mapped) {
        // relaxed: the value is checked by the exchange.
        uint64_t head = free_.load(std::memory_order_relaxed);
        do {
            mapped->next_free.store(mapped_of(head), std::memory_order_relaxed);
            // release: the next owner sees next_free and the last owner's stores.
        } while (!free_.compare_exchange_weak(
            head, retagged(head, mapped), std::memory_order_release, std::memory_order_relaxed));
    }

    static Mapped* pop_free() {
        // acquire: pairs with the release in push_free.
        uint64_t head = free_.load(std::memory_order_acquire);
        while (Mapped* const mapped = mapped_of(head)) {
            // Another thread may take it meanwhile; blocks are never unmapped, so the load is safe,
            // and the exchange fails.
            Mapped* const next = mapped->next_free.load(std::memory_order_relaxed);
            if (free_.compare_exchange_weak(head,
                                            retagged(head, next),
                                            std::memory_order_acquire,
                                            std::memory_order_acquire)) {
                return mapped;
            }
        }
        return nullptr;
    }

    static Mapped* map_slow() {
        void* const memory = record::map_zeroed(sizeof(Mapped));
        if (memory == nullptr) {
            return nullptr;
        }
        auto* const mapped = static_cast<Mapped*>(memory);
        mapped->next = all_.load(std::memory_order_relaxed);
        // release: a reader that finds it in the list sees its `next`.
        while (!all_.compare_exchange_weak(
            mapped->next, mapped, std::memory_order_release, std::memory_order_relaxed)) {
        }
        return mapped;
    }

    // Runs at the end of a thread. Later destructors may take a block again: then pthread calls
    // this once more (up to PTHREAD_DESTRUCTOR_ITERATIONS times; after that one block stays in
    // use).
    static void release_slow(void* mapped) {
        SetOwn(nullptr);
        push_free(static_cast<Mapped*>(mapped));
    }

    static inline pthread_once_t key_once_ = PTHREAD_ONCE_INIT;
    static inline pthread_key_t key_ = 0;
    static inline bool has_key_ = false;
    static inline std::atomic<Mapped*> all_{nullptr};
    // A stack: the address in the low 48 bits, above it a count of changes. The exchange fails if a
    // block was taken and returned since the load.
    static inline std::atomic<uint64_t> free_{0};
};

}  // namespace peakline::capture
