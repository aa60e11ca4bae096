// Counts what a trace holds, for Note [Totals] in trace_format.h. Fed by the trace writer with what
// it knows anyway: nothing is counted event by event but records of rare types and of shapes that
// never come again. Not thread safe, no malloc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mapped_array.h"
#include "trace_format.h"

namespace peakline::record {

struct ClassSlot;
class TraceWriter;

class TraceTotals {
public:
    enum class Wanted { kYes, kNo };

    // A new trace with at most `max_classes` classes. Without memory it gets no totals.
    void begin_trace(Wanted wanted, uint32_t max_classes);
    // The trace has events that cannot be counted here: it gets no totals.
    void give_up() { is_whole_ = false; }

    // One record, counted with others: that of a class met again after a whole step has left the
    // caches, and while it is fetched so are the others.
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
    void add_extended(format::ExtendedType type, const uint64_t* values) {
        ++extended_counts_[static_cast<size_t>(type)];
        if (type == format::ExtendedType::kMark &&
            values[0] == static_cast<uint64_t>(format::MarkKind::kPhaseBegin)) {
            add_phase_slow(values[2]);
        }
    }

    struct Position {
        uint64_t event_count;
        uint64_t alloc_count;
        uint32_t class_count;
    };
    // Puts the totals, when they are whole, as SUMMARY records; stops at the first that is refused.
    void write_to(TraceWriter& writer, const Position& end);

private:
    static constexpr size_t kPlaceSlots = size_t{1} << 17;
    static constexpr uint32_t kMostWaiting = 64;
    static constexpr size_t kMaxPlaces = kPlaceSlots / 4 * 3;

    // Inline records of one context, stream and device.
    struct Place {
        uint64_t count;  // 0: a free slot
        uint64_t requested_bytes;
        uint64_t block_bytes;
        uint32_t context;
        uint32_t stream;
        uint32_t device;
        uint32_t unused;
    };

    Place* find_place(const ClassSlot& shape);
    void add_phase_slow(uint64_t string);
    bool put_classes(TraceWriter& writer, uint32_t class_count) const;
    bool put_places(TraceWriter& writer) const;
    bool put_sizes(TraceWriter& writer) const;
    bool put_phases(TraceWriter& writer) const;

    [[gnu::noinline]] void count_waiting_slow();

    bool is_whole_ = false;
    uint32_t waiting_count_ = 0;
    uint32_t waiting_[kMostWaiting] = {};
    MappedArray<uint64_t> class_counts_;  // by class id
    MappedArray<Place> places_;           // open addressing
    size_t place_count_ = 0;
    uint64_t inline_sizes_[2][format::kSizeSlots] = {};  // by Measure
    uint64_t extended_counts_[format::kLastExtendedType + 1] = {};
    uint64_t phases_[format::kMaxPhaseNames] = {};
    size_t phase_count_ = 0;
};

}  // namespace peakline::record
