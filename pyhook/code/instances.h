// The modules and operators seen in stacks, by address, and their ids in the trace. When an object
// dies, a second one may get its address: watched_objects.h reports the death, and later stacks get
// a new id. See Note [Instances in stacks]. Slow path of a capture. Has its own leaf lock and
// mapped memory, never destroyed.
#pragma once

#include <atomic>
#include <cstdint>

#include "address_table.h"
#include "allocator/record/tables/leaf_lock.h"
#include "allocator/record/tables/never_destroyed.h"
#include "allocator/record/tables/stack_table.h"

namespace peakline::pyhook {

// More instances are not distinguished (a program may make new modules for ever).
inline constexpr uint32_t kMaxInstances = (1U << 18) - 1;

class InstanceTable {
public:
    bool init();

    // The id of the object at this address, which a frame of this thread (or the GIL) keeps alive.
    // A new object is added to `table` with its class name. 0: the table is full. `is_call`: that
    // frame is a call of a module, whose arguments are news once.
    uint32_t intern_slow(uint64_t address, record::StackTable& table, bool is_call);

    // Whether the object at this address has an id.
    bool knows(uint64_t address);

    // Whether an object was seen for the first time since the last call, or called for the first
    // time.
    bool take_news() {
        // relaxed: a thread that sees it late requests names late.
        return has_news_.load(std::memory_order_relaxed) &&
               has_news_.exchange(false, std::memory_order_relaxed);
    }

    // The object is about to be freed. Call it with the GIL held.
    void died(uint64_t address);

    // Allows another StackTable in later captures.
    void forget();

    void prepare_fork() { lock_.lock(); }
    void parent_after_fork() { lock_.unlock(); }
    void child_after_fork() { lock_.reset_after_fork(); }

private:
    struct Entry : Addressed {
        uint32_t id;  // 0: died
        uint32_t is_called;
    };

    std::atomic<bool> has_news_{false};
    record::LeafLock lock_;
    record::NeverDestroyed<AddressTable<Entry>> entries_;  // Guarded by lock_.
    uint32_t last_id_ = 0;                                 // Guarded by lock_.
};

extern InstanceTable g_instances;

}  // namespace peakline::pyhook
