// Remembers every resolved code object with its names, and detects its death: another function may
// then get the address. Slow path of a capture; the hot path reads its epoch. Has its own leaf
// lock. Memory is mapped once; the table is never destroyed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "address_table.h"
#include "allocator/record/tables/leaf_lock.h"
#include "allocator/record/tables/never_destroyed.h"
#include "allocator/record/tables/stack_table.h"
#include "code_reader.h"

namespace peakline::pyhook {

// Note [Code epoch]
// Raw frames are addresses. After a registered code object is freed, a new one may get the same
// address, and an old raw stack would then name the wrong function. This affects 47 % and more of
// all stacks in a program that compiles functions in a loop. So PyCode_Type.tp_dealloc is wrapped,
// and the death of a *registered* code object increments the epoch. The epoch is hashed with every
// raw stack, so no old stack is ever found again. Unregistered code dies without effect. Order: the
// increment happens under the GIL, before the memory is returned. A thread that runs new code at
// this address took the GIL after that (or got the address from malloc after it), so its relaxed
// load sees the increment.
class CodeTable {
public:
    // Maps the memory. Call it once, before the other functions.
    bool init();

    // Changes whenever a cached raw stack may have become wrong.
    uint64_t epoch() const { return epoch_.load(std::memory_order_relaxed); }

    // The id of this frame in `table`; 0 when one of the two tables is full. The frame must be
    // visible (CodeReader::is_visible) and run on this thread, as a method of `instance`. `text`
    // has kMaxTextBytes.
    uint32_t intern_frame_slow(const CodeReader& reader,
                               const RawFrame& frame,
                               uint32_t instance,
                               record::StackTable& table,
                               char* text);

    // Invalidates cached raw stacks for another reason than the death of code.
    // relaxed: see Note [Code epoch].
    void bump_epoch() { epoch_.fetch_add(1, std::memory_order_relaxed); }

    // Registers a code object without names.
    void watch(uint64_t code);

    // A code object is about to be freed. Call it with the GIL held, before the memory is returned.
    void code_died(uint64_t code);

    // Forgets all ids: the next captures intern into another StackTable.
    void forget();

    void prepare_fork();
    void parent_after_fork();
    void child_after_fork();

private:
    struct Entry : Addressed {  // the code object
        uint32_t serial;        // never reused, so that (serial, offset) identifies an instruction
        uint32_t file;
        uint32_t name;
        uint32_t qualified_name;
    };

    void insert(Entry& entry);
    bool name_code_slow(const CodeReader& reader,
                        const RawFrame& frame,
                        record::StackTable& table,
                        char* text,
                        Entry* named);

    std::atomic<uint64_t> epoch_{1};
    record::LeafLock lock_;
    static constexpr size_t kMostEntries = 3U << 14U;

    record::NeverDestroyed<AddressTable<Entry>> entries_;  // Guarded by lock_.
    uint32_t last_serial_ = 0;                             // Guarded by lock_.
    bool overflowed_ = false;                  // Guarded by lock_. Then every death counts.
    record::RawStackCache* frames_ = nullptr;  // (serial, offset) -> frame id
};

extern CodeTable g_code_table;

}  // namespace peakline::pyhook
