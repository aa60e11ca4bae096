#include "trace_totals.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "class_table.h"
#include "trace_writer.h"

namespace peakline::record {
namespace {

using format::SummaryType;

}  // namespace

bool KeyedCounts::count(const KeyedCount& more) {
    KeyedCount* const known = find(more.hash(), [&](const KeyedCount& one) {
        return std::memcmp(one.key, more.key, sizeof one.key) == 0;
    });
    if (known == nullptr) {
        return add(more) != nullptr;
    }
    known->count += more.count;
    known->first_sum += more.first_sum;
    known->second_sum += more.second_sum;
    return true;
}

void TraceTotals::begin_trace(Wanted wanted, uint32_t max_classes) {
    // Fresh pages are zero.
    is_whole_ = wanted == Wanted::kYes && class_counts_.reserve(size_t{max_classes} + 1) &&
                inline_totals_.init(kFirstSlots) && value_reads_.init(kFirstSlots);
    phase_count_ = 0;
    main_end_tick_ = 0;
    waiting_count_ = 0;
    std::memset(inline_sizes_, 0, sizeof inline_sizes_);
    std::memset(extended_counts_, 0, sizeof extended_counts_);
}

void TraceTotals::count_waiting_slow() {
    for (uint32_t i = 0; i < waiting_count_; ++i) {
        ++class_counts_[waiting_[i]];
    }
    waiting_count_ = 0;
}

void TraceTotals::add_inline_records(const ClassSlot& shape, uint64_t count) {
    if (!is_whole_ || count == 0) {
        return;
    }
    const auto requested_slot = static_cast<size_t>(std::bit_width(shape.requested_bytes));
    const auto block_slot = static_cast<size_t>(std::bit_width(shape.block_bytes));
    if (std::max(requested_slot, block_slot) >= format::kSizeSlots ||
        !inline_totals_.count({count,
                               count * shape.requested_bytes,
                               count * shape.block_bytes,
                               {shape.context, shape.stream, shape.device},
                               0})) {
        give_up();
        return;
    }
    inline_sizes_[static_cast<size_t>(format::Measure::kAllocated)][block_slot] += count;
    inline_sizes_[static_cast<size_t>(format::Measure::kRequested)][requested_slot] += count;
}

void TraceTotals::add_phase_slow(uint64_t string) {
    uint64_t* const end = phases_ + phase_count_;
    if (phase_count_ < format::kMaxPhaseNames && std::find(phases_, end, string) == end) {
        phases_[phase_count_++] = string;
    }
}

void TraceTotals::add_value_read(const format::ValueRead& read) {
    if (is_whole_ && !value_reads_.count({1,
                                          read.bytes,
                                          0,
                                          {static_cast<uint32_t>(read.context),
                                           static_cast<uint32_t>(read.operators),
                                           static_cast<uint32_t>(read.flags)},
                                          0})) {
        give_up();
    }
}

bool TraceTotals::write_to(TraceWriter& writer, const Position& end) {
    if (!is_whole_) {
        return false;
    }
    count_waiting_slow();
    uint64_t values[2 + format::kLastExtendedType] = {end.event_count, end.alloc_count};
    static_assert(std::size(values) <= TraceWriter::kMaxSummaryValues);
    std::copy_n(extended_counts_ + 1, format::kLastExtendedType, values + 2);
    return writer.put_summary(SummaryType::kTotals, values, std::size(values)) &&
           put_classes(writer, end.class_count) && put_places(writer) && put_sizes(writer) &&
           put_phases(writer) && put_value_reads(writer) && put_out_of_memory(writer) &&
           writer.put_summary(SummaryType::kTotalsEnd, &end.event_count, 1);
}

bool TraceTotals::put_classes(TraceWriter& writer, uint32_t class_count) const {
    uint64_t values[TraceWriter::kMaxSummaryValues];
    constexpr uint64_t kAtOnce = TraceWriter::kMaxSummaryValues - 1;
    for (uint64_t first = 1; first <= class_count; first += kAtOnce) {
        const uint64_t count = std::min<uint64_t>(kAtOnce, class_count - first + 1);
        values[0] = first;
        std::copy_n(class_counts_.data() + first, count, values + 1);
        if (!writer.put_summary(SummaryType::kClassTotals, values, count + 1)) {
            return false;
        }
    }
    return true;
}

bool TraceTotals::put_places(TraceWriter& writer) const {
    bool is_in_file = true;
    inline_totals_.for_each([&](const KeyedCount& one) {
        const auto& [context, stream, device] = one.key;
        const uint64_t values[] = {
            context, device, stream, one.count, one.first_sum, one.second_sum};
        is_in_file = is_in_file && writer.put_summary(SummaryType::kInlineTotals, values, 6);
    });
    return is_in_file;
}

bool TraceTotals::put_value_reads(TraceWriter& writer) const {
    bool is_in_file = true;
    value_reads_.for_each([&](const KeyedCount& one) {
        const auto& [context, operators, flags] = one.key;
        const uint64_t values[] = {context, operators, flags, one.count, one.first_sum};
        is_in_file = is_in_file && writer.put_summary(SummaryType::kValueReads, values, 5);
    });
    return is_in_file;
}

bool TraceTotals::put_out_of_memory(TraceWriter& writer) const {
    if (extended_counts_[static_cast<size_t>(format::ExtendedType::kOutOfMemory)] == 0) {
        return true;
    }
    uint64_t values[1 + format::kFieldCount<format::OutOfMemory>] = {last_out_of_memory_tick_};
    const auto fields = format::fields_of(last_out_of_memory_);
    std::copy(fields.begin(), fields.end(), values + 1);
    return writer.put_summary(SummaryType::kLastOutOfMemory, values, std::size(values));
}

bool TraceTotals::put_sizes(TraceWriter& writer) const {
    for (const format::Measure measure :
         {format::Measure::kAllocated, format::Measure::kRequested}) {
        uint64_t values[1 + format::kSizeSlots] = {static_cast<uint64_t>(measure)};
        std::copy_n(inline_sizes_[static_cast<size_t>(measure)], format::kSizeSlots, values + 1);
        if (!writer.put_summary(SummaryType::kInlineSizes, values, std::size(values))) {
            return false;
        }
    }
    return true;
}

bool TraceTotals::put_phases(TraceWriter& writer) const {
    constexpr size_t kAtOnce = TraceWriter::kMaxSummaryValues;
    for (size_t first = 0; first < phase_count_; first += kAtOnce) {
        const size_t count = std::min(kAtOnce, phase_count_ - first);
        if (!writer.put_summary(SummaryType::kPhaseNames, phases_ + first, count)) {
            return false;
        }
    }
    return true;
}

}  // namespace peakline::record
