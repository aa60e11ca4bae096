// Counts the records of a trace, for Note [Totals] in trace_format.h. The trace writer passes it
// facts that it has anyway: only records of rare types and of shapes that do not repeat are counted
// event by event. Not thread safe, no malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/hash_table.h"
#include "allocator/record/tables/mapped_array.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::record {

struct ClassSlot;
class TraceWriter;

// Sums by a key of three numbers.
struct KeyedCount {
    uint64_t count;  // 0: a free slot
    uint64_t first_sum;
    uint64_t second_sum;
    uint32_t key[3];
    uint32_t unused;

    bool is_used() const { return count != 0; }
    uint64_t hash() const { return mix64(mix64(key[0] | uint64_t{key[1]} << 32U) ^ key[2]); }
};

class KeyedCounts : public HashTable<KeyedCount> {
public:
    // False when memory ran out.
    bool count(const KeyedCount& more);
};

class TraceTotals {
public:
    enum class Wanted { kYes, kNo };

    // A new trace with at most `max_classes` classes. Without memory it gets no totals.
    void begin_trace(Wanted wanted, uint32_t max_classes);
    // The trace has events that cannot be counted here: it gets no totals.
    void give_up() { is_whole_ = false; }

    // Counts one record together with others. The count of a class that repeats only after a whole
    // step has left the caches, so a batch fetches several counts at the same time.
    void add_class_record(uint32_t class_id) {
        if (is_whole_) {
            waiting_[waiting_count_++] = class_id;
            if (waiting_count_ == kMostWaiting) {
                count_waiting_slow();
            }
        }
    }
    void add_class_records(uint32_t class_id, uint64_t count) {
        if (is_whole_) {
            class_counts_[class_id] += count;
        }
    }
    void add_inline_records(const ClassSlot& shape, uint64_t count);
    void add_extended(format::ExtendedType type, const uint64_t* values, uint64_t tick) {
        ++extended_counts_[static_cast<size_t>(type)];
        switch (type) {
            case format::ExtendedType::kMark:
                add_mark(format::record_of<format::Mark>(values), tick);
                break;
            case format::ExtendedType::kOutOfMemory:
                last_out_of_memory_ = format::record_of<format::OutOfMemory>(values);
                last_out_of_memory_tick_ = tick;
                break;
            case format::ExtendedType::kValueRead:
                add_value_read(format::record_of<format::ValueRead>(values));
                break;
            default:
                break;
        }
    }

    struct Position {
        uint64_t event_count;
        uint64_t alloc_count;
        uint32_t class_count;
    };
    // Puts the totals, when they are whole, as SUMMARY records; stops at the first that is refused.
    // True when all of them are in the file.
    bool write_to(TraceWriter& writer, const Position& end);
    // The end of the program's main, 0: not yet.
    uint64_t main_end_tick() const { return main_end_tick_; }

private:
    static constexpr size_t kFirstSlots = size_t{1} << 10;
    static constexpr uint32_t kMostWaiting = 64;

    void add_mark(const format::Mark& mark, uint64_t tick) {
        if (mark.kind == format::MarkKind::kPhaseBegin) {
            add_phase_slow(mark.text);
        } else if (mark.kind == format::MarkKind::kMainEnd && main_end_tick_ == 0) {
            main_end_tick_ = tick;
        }
    }
    void add_value_read(const format::ValueRead& read);
    void add_phase_slow(uint64_t string);
    bool put_classes(TraceWriter& writer, uint32_t class_count) const;
    bool put_places(TraceWriter& writer) const;
    bool put_sizes(TraceWriter& writer) const;
    bool put_phases(TraceWriter& writer) const;
    bool put_value_reads(TraceWriter& writer) const;
    bool put_out_of_memory(TraceWriter& writer) const;

    [[gnu::noinline]] void count_waiting_slow();

    bool is_whole_ = false;
    uint32_t waiting_count_ = 0;
    uint32_t waiting_[kMostWaiting] = {};
    MappedArray<uint64_t> class_counts_;  // by class id
    KeyedCounts inline_totals_;           // context, stream, device: requested, block bytes
    KeyedCounts value_reads_;             // context, operators, flags: bytes
    format::OutOfMemory last_out_of_memory_{};
    uint64_t last_out_of_memory_tick_ = 0;
    uint64_t main_end_tick_ = 0;
    uint64_t inline_sizes_[2][format::kSizeSlots] = {};  // by Measure
    uint64_t extended_counts_[format::kLastExtendedType + 1] = {};
    uint64_t phases_[format::kMaxPhaseNames] = {};
    size_t phase_count_ = 0;
};

}  // namespace peakline::record
