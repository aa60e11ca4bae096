// 4 bytes for each allocation of a trace, found by its ordinal without hashing. Pages whose entries
// are all removed go back to the kernel, so memory depends on the blocks that have an entry and not
// on the length of the trace. Used by the tables of blocks only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/mman.h>

#include "allocator/record/tables/mapped_array.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {

// Makes room for `count` entries, which are zero and take no memory until they are used. Throws
// TraceError when the system refuses address space; the message has `max_alloc_count`.
template <class Entry>
void map_entries(record::MappedArray<Entry>& entries, uint64_t count, uint64_t max_alloc_count) {
    if (!entries.reserve(count) || !entries.resize_untouched(count)) {
        throw TraceError("no address space for " + std::to_string(max_alloc_count) +
                         " allocations; raise the limit (ulimit -v)");
    }
}

class OrdinalTable {
public:
    // Throws TraceError when the system refuses address space.
    explicit OrdinalTable(uint64_t max_alloc_count) {
        const uint64_t page_count = max_alloc_count / kPageEntries + 1;
        map_entries(entries_, page_count * kPageEntries, max_alloc_count);
        map_entries(live_in_page_, page_count, max_alloc_count);
    }

    // 0: none.
    uint32_t at(uint64_t ordinal) const { return entries_[ordinal]; }

    // `entry`: not 0.
    void put(uint64_t ordinal, uint32_t entry) {
        entries_[ordinal] = entry;
        newest_page_ = ordinal / kPageEntries;
        ++live_in_page_[newest_page_];
    }
    // The entry must exist.
    void add_flag(uint64_t ordinal, uint32_t flag) { entries_[ordinal] |= flag; }

    void remove(uint64_t ordinal) {
        entries_[ordinal] = 0;
        const uint64_t page = ordinal / kPageEntries;
        if (--live_in_page_[page] == 0 && page < newest_page_) {
            madvise(&entries_[page * kPageEntries], kPageBytes, MADV_DONTNEED);
        }
    }

    // Calls visit(ordinal) for every entry with ordinal < end, in order.
    template <class Visit>
    void for_each(uint64_t end, Visit visit) const {
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

    record::MappedArray<uint32_t> entries_;
    record::MappedArray<uint16_t> live_in_page_;
    uint64_t newest_page_ = 0;
};

// Values in reused slots.
template <class Value>
class SlotPool {
public:
    uint32_t add(const Value& value) {
        if (free_.empty()) {
            values_.push_back(value);
            return static_cast<uint32_t>(values_.size() - 1);
        }
        const uint32_t slot = free_.back();
        free_.pop_back();
        values_[slot] = value;
        return slot;
    }
    void remove(uint32_t slot) { free_.push_back(slot); }
    // Valid until the next add.
    Value& operator[](uint32_t slot) { return values_[slot]; }
    const Value& operator[](uint32_t slot) const { return values_[slot]; }

private:
    std::vector<Value> values_;
    std::vector<uint32_t> free_;
};

}  // namespace peakline::report
