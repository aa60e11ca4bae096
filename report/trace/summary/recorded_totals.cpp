#include "recorded_totals.h"

#include <utility>

namespace peakline::report {

using format::SummaryType;

bool RecordedTotalsDecoder::decode(SummaryType type, FieldCursor cursor) {
    switch (type) {
        case SummaryType::kTotals:
            return begin(cursor);
        case SummaryType::kClassTotals:
            return open_.has_value() && add_classes(cursor);
        case SummaryType::kInlineTotals:
            return open_.has_value() && add_sum(cursor);
        case SummaryType::kInlineSizes:
            return open_.has_value() && set_sizes(cursor);
        case SummaryType::kPhaseNames:
            return open_.has_value() && add_phases(cursor);
        case SummaryType::kValueReads:
            return open_.has_value() && add_value_reads(cursor);
        case SummaryType::kLastOutOfMemory:
            return open_.has_value() && set_out_of_memory(cursor);
        case SummaryType::kTotalsEnd:
            return open_.has_value() && end(cursor);
        default:
            return true;
    }
}

bool RecordedTotalsDecoder::begin(FieldCursor cursor) {
    open_.emplace();
    open_->event_count = cursor.uv();
    open_->alloc_count = cursor.uv();
    open_->extended_counts.push_back(0);
    while (cursor.good && cursor.at < cursor.end) {
        open_->extended_counts.push_back(cursor.uv());
    }
    return cursor.good;
}

bool RecordedTotalsDecoder::add_classes(FieldCursor cursor) {
    if (cursor.uv() != open_->class_counts.size() + 1) {
        return false;
    }
    while (cursor.good && cursor.at < cursor.end) {
        open_->class_counts.push_back(cursor.uv());
    }
    return cursor.good;
}

bool RecordedTotalsDecoder::add_sum(FieldCursor cursor) {
    AllocationSum sum;
    sum.context = cursor.uv32();
    sum.device = cursor.uv32();
    sum.stream = cursor.uv32();
    sum.count = cursor.uv();
    sum.requested_bytes = cursor.uv();
    sum.block_bytes = cursor.uv();
    open_->inline_totals.push_back(sum);
    return cursor.good;
}

bool RecordedTotalsDecoder::set_sizes(FieldCursor cursor) {
    const uint64_t measure = cursor.uv();
    if (measure > static_cast<uint64_t>(format::Measure::kRequested)) {
        return false;
    }
    for (uint64_t& count : open_->inline_sizes[measure]) {
        count = cursor.uv();
    }
    return cursor.good;
}

bool RecordedTotalsDecoder::add_phases(FieldCursor cursor) {
    while (cursor.good && cursor.at < cursor.end) {
        open_->phases.push_back(cursor.uv32());
    }
    return cursor.good;
}

bool RecordedTotalsDecoder::add_value_reads(FieldCursor cursor) {
    ValueRead reads;
    reads.context = cursor.uv32();
    reads.operators = cursor.uv32();
    reads.flags = cursor.uv32();
    reads.count = cursor.uv();
    reads.bytes = cursor.uv();
    open_->value_reads.push_back(reads);
    return cursor.good;
}

bool RecordedTotalsDecoder::set_out_of_memory(FieldCursor cursor) {
    RecordedOutOfMemory failed;
    failed.tick = cursor.uv();
    uint64_t fields[format::kFieldCount<format::OutOfMemory>] = {};
    for (uint64_t& field : fields) {
        field = cursor.uv();
    }
    failed.last = format::record_of<format::OutOfMemory>(fields);
    open_->out_of_memory = failed;
    return cursor.good;
}

bool RecordedTotalsDecoder::end(FieldCursor cursor) {
    if (cursor.uv() != open_->event_count || !cursor.good) {
        return false;
    }
    whole_ = std::exchange(open_, std::nullopt);
    return true;
}

}  // namespace peakline::report
