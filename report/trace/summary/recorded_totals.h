// The recorder's own counts of all events, see Note [Totals] in trace_format.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "report/trace/file/field_cursor.h"

namespace peakline::report {

// Allocations by the power of two of their size: slot n counts 2^(n-1) <= size < 2^n, slot 0
// empty ones.
using SizeHistogram = std::array<uint64_t, format::kSizeSlots>;

// Allocations of one context, stream and device. Sizes are summed, not kept, so that a trace with
// many different sizes does not fill the memory.
struct AllocationSum {
    uint32_t context = 0;
    uint32_t stream = 0;
    uint32_t device = 0;
    uint64_t count = 0;
    uint64_t requested_bytes = 0;
    uint64_t block_bytes = 0;
};

// Equal reads of one context of a value that the simulated device does not have.
struct ValueRead {
    uint32_t context = 0;
    uint32_t operators = 0;  // string: outermost first, joined by '>'
    uint32_t flags = 0;      // format::ValueReadFlags
    uint64_t count = 0;
    uint64_t bytes = 0;
};

struct RecordedOutOfMemory {
    uint64_t tick = 0;
    format::OutOfMemory last = {};
};

struct RecordedTotals {
    uint64_t event_count = 0;
    uint64_t alloc_count = 0;
    // Records by ExtendedType; traces of newer minor versions have more types than we know.
    std::vector<uint64_t> extended_counts;
    std::vector<uint64_t> class_counts;        // of class 1, 2, ...
    std::vector<AllocationSum> inline_totals;  // of inline alloc records
    SizeHistogram inline_sizes[2] = {};        // by Measure
    std::vector<uint32_t> phases;              // strings
    std::vector<ValueRead> value_reads;
    std::optional<RecordedOutOfMemory> out_of_memory;

    uint64_t extended_count(format::ExtendedType type) const {
        const auto index = static_cast<size_t>(type);
        return index < extended_counts.size() ? extended_counts[index] : 0;
    }
};

class RecordedTotalsDecoder {
public:
    // False when the record is shorter than its fields or does not follow the earlier ones. Ignores
    // records of other types and returns true.
    bool decode(format::SummaryType type, FieldCursor cursor);
    // The last whole totals.
    std::optional<RecordedTotals> take() { return std::move(whole_); }

private:
    bool begin(FieldCursor cursor);
    bool add_classes(FieldCursor cursor);
    bool add_sum(FieldCursor cursor);
    bool set_sizes(FieldCursor cursor);
    bool add_phases(FieldCursor cursor);
    bool add_value_reads(FieldCursor cursor);
    bool set_out_of_memory(FieldCursor cursor);
    bool end(FieldCursor cursor);

    std::optional<RecordedTotals> open_;
    std::optional<RecordedTotals> whole_;
};

}  // namespace peakline::report
