// The allocations of a trace by ordinal: 4 bytes each, found without hashing because a free names
// the ordinal it means. Pages of entries that are all freed go back to the kernel, so memory
// follows the live blocks and not the length of the trace. Used by replay only.
#pragma once

#include <cstdint>
#include <vector>

#include <sys/mman.h>

#include "allocator/record/mapped_array.h"
#include "report/trace/checkpoint.h"
#include "report/trace/definitions.h"
#include "report/trace/event_decoder.h"
#include "report/trace/trace_error.h"

namespace peakline::report {

class AllocationTable {
public:
    // `classes` must outlive the table. Throws TraceError when address space is refused.
    AllocationTable(const std::vector<AllocationShape>& classes, uint64_t max_alloc_count)
        : classes_(classes) {
        const uint64_t page_count = max_alloc_count / kPageEntries + 1;
        if (!entries_.reserve(page_count * kPageEntries) ||
            !entries_.resize_untouched(page_count * kPageEntries) ||
            !live_in_page_.reserve(page_count) || !live_in_page_.resize_untouched(page_count)) {
            throw TraceError("no address space for " + std::to_string(max_alloc_count) +
                             " allocations; raise the limit (ulimit -v)");
        }
    }

    // The shape the class defines, or nullptr when its definition is lost; then the allocation
    // has no size, but its free is still recognised.
    const AllocationShape* add_class(uint64_t ordinal, uint32_t class_id) {
        const bool known =
            class_id - 1 < classes_.size() && class_id < kIndexMask && !classes_[class_id - 1].lost;
        put(ordinal, known ? class_id : kIndexMask);
        return known ? &classes_[class_id - 1] : nullptr;
    }

    void add_inline(uint64_t ordinal, const AllocationShape& shape) {
        uint32_t slot = static_cast<uint32_t>(inline_shapes_.size());
        if (free_slots_.empty()) {
            inline_shapes_.push_back(shape);
        } else {
            slot = free_slots_.back();
            free_slots_.pop_back();
            inline_shapes_[slot] = shape;
        }
        put(ordinal, kInline | (slot + 1));
    }

    // The blocks that are live where the stream begins: its first allocations.
    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            add_inline(ordinal, checkpoint.blocks[ordinal].shape);
            if (checkpoint.blocks[ordinal].is_deferred) {
                entries_[ordinal] |= kDeferred;
            }
        }
    }

    bool is_live(uint64_t ordinal) const { return entries_[ordinal] != 0; }
    // True between kFreeDeferred and kFreeCompleted.
    bool is_deferred(uint64_t ordinal) const { return (entries_[ordinal] & kDeferred) != 0; }
    // False: it does not live any more, or is given up a second time.
    bool can_free(uint64_t ordinal, FreeKind kind) const {
        return is_live(ordinal) && !(kind == FreeKind::kDeferred && is_deferred(ordinal));
    }

    // Of a live allocation; nullptr when its definition is lost.
    const AllocationShape* shape(uint64_t ordinal) const {
        const uint32_t entry = entries_[ordinal];
        const uint32_t index = entry & kIndexMask;
        if ((entry & kInline) != 0) {
            return &inline_shapes_[index - 1];
        }
        return index == kIndexMask ? nullptr : &classes_[index - 1];
    }

    // A block given up for later stays live. The shape stays valid until the next add_inline.
    void free(uint64_t ordinal, FreeKind kind) {
        if (kind == FreeKind::kDeferred) {
            entries_[ordinal] |= kDeferred;
        } else {
            remove(ordinal);
        }
    }

    // visit(ordinal) for every live allocation with ordinal < end, in order.
    template <class Visit>
    void for_each_live(uint64_t end, Visit visit) const {
        for (uint64_t page = 0; page * kPageEntries < end; ++page) {
            if (live_in_page_[page] == 0) {
                continue;
            }
            for (uint64_t i = page * kPageEntries; i < end && i < (page + 1) * kPageEntries; ++i) {
                if (entries_[i] != 0) {
                    visit(i);
                }
            }
        }
    }

private:
    static constexpr uint64_t kPageBytes = 4096;
    static constexpr uint64_t kPageEntries = kPageBytes / sizeof(uint32_t);
    // An entry is 0 (not live) or flags and an index from 1; index kIndexMask: definition lost.
    static constexpr uint32_t kInline = 1U << 31;
    static constexpr uint32_t kDeferred = 1U << 30;
    static constexpr uint32_t kIndexMask = kDeferred - 1;

    void remove(uint64_t ordinal) {
        const uint32_t entry = entries_[ordinal];
        if ((entry & kInline) != 0) {
            free_slots_.push_back((entry & kIndexMask) - 1);
        }
        entries_[ordinal] = 0;
        const uint64_t page = ordinal / kPageEntries;
        if (--live_in_page_[page] == 0 && page < newest_page_) {
            madvise(&entries_[page * kPageEntries], kPageBytes, MADV_DONTNEED);
        }
    }

    void put(uint64_t ordinal, uint32_t entry) {
        entries_[ordinal] = entry;
        newest_page_ = ordinal / kPageEntries;
        ++live_in_page_[newest_page_];
    }

    const std::vector<AllocationShape>& classes_;
    record::MappedArray<uint32_t> entries_;
    record::MappedArray<uint16_t> live_in_page_;
    uint64_t newest_page_ = 0;
    std::vector<AllocationShape> inline_shapes_;  // slots of live inline allocations
    std::vector<uint32_t> free_slots_;
};

}  // namespace peakline::report
