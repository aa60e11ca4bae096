// The live blocks of a trace, by ordinal. Used by replay only.
#pragma once

#include <cstdint>
#include <vector>

#include "ordinal_table.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/events/event_decoder.h"
#include "report/trace/summary/checkpoint.h"

namespace peakline::report {

class AllocationTable {
public:
    // `classes` must outlive the table. Throws TraceError when the system refuses address space.
    AllocationTable(const std::vector<AllocationShape>& classes, uint64_t max_alloc_count)
        : classes_(classes), entries_(max_alloc_count) {}

    // Returns the shape of the class, or nullptr when its definition is lost. Then the allocation
    // has no size, but its free is still recognised.
    const AllocationShape* add_class(uint64_t ordinal, uint32_t class_id) {
        const bool known =
            class_id - 1 < classes_.size() && class_id < kIndexMask && !classes_[class_id - 1].lost;
        entries_.put(ordinal, known ? class_id : kIndexMask);
        return known ? &classes_[class_id - 1] : nullptr;
    }

    void add_inline(uint64_t ordinal, const AllocationShape& shape) {
        entries_.put(ordinal, kInline | (inline_shapes_.add(shape) + 1));
    }

    // Adds the blocks that are live at the start of the stream: its first allocations.
    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            add_inline(ordinal, checkpoint.blocks[ordinal].shape);
            if (checkpoint.blocks[ordinal].is_deferred) {
                entries_.add_flag(ordinal, kDeferred);
            }
        }
    }

    bool is_live(uint64_t ordinal) const { return entries_.at(ordinal) != 0; }
    // True between kFreeDeferred and kFreeCompleted.
    bool is_deferred(uint64_t ordinal) const { return (entries_.at(ordinal) & kDeferred) != 0; }
    // False: the block is not live any more, or its deferred free is already recorded.
    bool can_free(uint64_t ordinal, FreeKind kind) const {
        return is_live(ordinal) && !(kind == FreeKind::kDeferred && is_deferred(ordinal));
    }

    // The shape of a live allocation; nullptr when its definition is lost.
    const AllocationShape* shape(uint64_t ordinal) const {
        const uint32_t entry = entries_.at(ordinal);
        const uint32_t index = entry & kIndexMask;
        if ((entry & kInline) != 0) {
            return &inline_shapes_[index - 1];
        }
        return index == kIndexMask ? nullptr : &classes_[index - 1];
    }

    // A block with a deferred free stays live. The shape stays valid until the next add_inline.
    // Inlined: a call would cost a twentieth of a table.
    [[gnu::always_inline]] void free(uint64_t ordinal, FreeKind kind) {
        const uint32_t entry = entries_.at(ordinal);
        if (kind == FreeKind::kDeferred) {
            entries_.add_flag(ordinal, kDeferred);
            return;
        }
        if ((entry & kInline) != 0) {
            inline_shapes_.remove((entry & kIndexMask) - 1);
        }
        entries_.remove(ordinal);
    }

    // Calls visit(ordinal) for every live allocation with ordinal < end, in order.
    template <class Visit>
    void for_each_live(uint64_t end, Visit visit) const {
        entries_.for_each(end, visit);
    }

private:
    // Flags and an index from 1; index kIndexMask: definition lost.
    static constexpr uint32_t kInline = 1U << 31;
    static constexpr uint32_t kDeferred = 1U << 30;
    static constexpr uint32_t kIndexMask = kDeferred - 1;

    const std::vector<AllocationShape>& classes_;
    OrdinalTable entries_;
    SlotPool<AllocationShape> inline_shapes_;
};

}  // namespace peakline::report
