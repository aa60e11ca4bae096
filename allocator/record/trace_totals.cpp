#include "trace_totals.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "class_table.h"
#include "trace_writer.h"

namespace peakline::record {
namespace {

using format::SummaryType;

uint64_t place_hash(const ClassSlot& shape) {
    const uint64_t mixed =
        shape.context | uint64_t{shape.stream} << 32U | uint64_t{shape.device} << 48U;
    return (mixed * 0x9E3779B97F4A7C15ULL) >> 40U;
}

}  // namespace

void TraceTotals::begin_trace(Wanted wanted, uint32_t max_classes) {
    // Fresh pages are zero.
    is_whole_ = wanted == Wanted::kYes && class_counts_.reserve(size_t{max_classes} + 1) &&
                places_.reserve(kPlaceSlots);
    place_count_ = phase_count_ = 0;
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

TraceTotals::Place* TraceTotals::find_place(const ClassSlot& shape) {
    for (size_t i = place_hash(shape) & (kPlaceSlots - 1);; i = (i + 1) & (kPlaceSlots - 1)) {
        Place& place = places_[i];
        if (place.count != 0) {
            if (place.context == shape.context && place.stream == shape.stream &&
                place.device == shape.device) {
                return &place;
            }
            continue;
        }
        if (place_count_ == kMaxPlaces) {
            return nullptr;
        }
        ++place_count_;
        place.context = shape.context;
        place.stream = shape.stream;
        place.device = shape.device;
        return &place;
    }
}

void TraceTotals::add_inline_records(const ClassSlot& shape, uint64_t count) {
    if (!is_whole_ || count == 0) {
        return;
    }
    const auto requested_slot = static_cast<size_t>(std::bit_width(shape.requested_bytes));
    const auto block_slot = static_cast<size_t>(std::bit_width(shape.block_bytes));
    Place* const place =
        std::max(requested_slot, block_slot) < format::kSizeSlots ? find_place(shape) : nullptr;
    if (place == nullptr) {
        give_up();
        return;
    }
    place->count += count;
    place->requested_bytes += count * shape.requested_bytes;
    place->block_bytes += count * shape.block_bytes;
    inline_sizes_[static_cast<size_t>(format::Measure::kAllocated)][block_slot] += count;
    inline_sizes_[static_cast<size_t>(format::Measure::kRequested)][requested_slot] += count;
}

void TraceTotals::add_phase_slow(uint64_t string) {
    uint64_t* const end = phases_ + phase_count_;
    if (phase_count_ < format::kMaxPhaseNames && std::find(phases_, end, string) == end) {
        phases_[phase_count_++] = string;
    }
}

void TraceTotals::write_to(TraceWriter& writer, const Position& end) {
    if (!is_whole_) {
        return;
    }
    count_waiting_slow();
    uint64_t values[2 + format::kLastExtendedType] = {end.event_count, end.alloc_count};
    std::copy_n(extended_counts_ + 1, format::kLastExtendedType, values + 2);
    if (writer.put_summary(SummaryType::kTotals, values, std::size(values)) &&
        put_classes(writer, end.class_count) && put_places(writer) && put_sizes(writer) &&
        put_phases(writer)) {
        writer.put_summary(SummaryType::kTotalsEnd, &end.event_count, 1);
    }
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
    for (size_t i = 0; i < kPlaceSlots && place_count_ != 0; ++i) {
        const Place& place = places_[i];
        const uint64_t values[] = {place.context,
                                   place.device,
                                   place.stream,
                                   place.count,
                                   place.requested_bytes,
                                   place.block_bytes};
        if (place.count != 0 && !writer.put_summary(SummaryType::kInlineTotals, values, 6)) {
            return false;
        }
    }
    return true;
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
