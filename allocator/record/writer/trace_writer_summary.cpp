// SUMMARY records: totals of whole files, checkpoints of bounded ones.
#include <algorithm>

#include "trace_writer.h"

namespace peakline::record {

using format::ChunkType;
using format::DefType;

bool TraceWriter::put_summary(format::SummaryType type,
                              const uint64_t* values,
                              size_t value_count) {
    unsigned char body[kMaxSummaryValues * format::kMaxVarintBytes];
    unsigned char* body_end = body;
    for (size_t i = 0; i < value_count && i < kMaxSummaryValues; ++i) {
        body_end = format::put_uv(body_end, values[i]);
    }
    return put_summary_record(type, body, static_cast<size_t>(body_end - body));
}

bool TraceWriter::put_totals() {
    if (target_ == nullptr || recycles()) {
        return false;
    }
    // Later events begin a new chunk.
    seal_chunk(events_);
    classes_.add_to(totals_);
    puts_totals_ = true;
    return totals_.write_to(
        *this, {event_count_, ordinal_count_, emitted_[static_cast<size_t>(DefType::kClass)]});
}

uint64_t TraceWriter::take_peak_bytes() {
    const uint64_t peak_bytes = std::max(peak_before_chunk_, max_live_bytes_);
    peak_before_chunk_ = 0;
    max_live_bytes_ = live_bytes_;
    return peak_bytes;
}

void TraceWriter::put_views_end() {
    const uint64_t main_end = totals_.main_end_tick();
    const uint64_t values[] = {event_count_, main_end != 0 ? main_end : last_tick_};
    put_summary(format::SummaryType::kViewsEnd, values, 2);
}

bool TraceWriter::put_summary_record(format::SummaryType type,
                                     const unsigned char* body,
                                     size_t length) {
    const uint64_t chunk_before = summary_.index;
    const bool had_chunk = summary_.base != nullptr;
    if (target_ == nullptr ||
        !has_room(summary_, ChunkType::kSummary, 2 * format::kMaxVarintBytes + length)) {
        return false;
    }
    if (in_checkpoint_ && (!had_chunk || summary_.index != chunk_before)) {
        put_checkpoint_part();
    }
    commit(summary_, put_record(summary_.at, static_cast<uint64_t>(type), body, length));
    return true;
}

void TraceWriter::put_checkpoint_part() {
    in_checkpoint_ = false;
    const uint64_t part[] = {checkpoint_generation_,
                             checkpoint_parts_++,
                             event_count_,
                             checkpoint_.next_ordinal,
                             checkpoint_.tick,
                             checkpoint_.is_tracing ? uint64_t{1} : 0};
    put_summary(format::SummaryType::kCheckpoint, part, 6);
    in_checkpoint_ = true;
}

void TraceWriter::begin_checkpoint(const CheckpointState& state) {
    if (target_ == nullptr || !recycles()) {
        return;
    }
    // Flush definitions first, and start a new EVENTS chunk.
    define_new_slow();
    if (target_ == nullptr) {
        return;
    }
    seal_chunk(events_);
    checkpoint_at_ = never_due();
    ring_.begin_segment();
    checkpoint_ = state;
    ordinal_count_ = state.next_ordinal;
    last_tick_ = std::max(last_tick_, state.tick);
    ++checkpoint_generation_;
    checkpoint_parts_ = 0;
    baseline_address_ = 0;
    in_checkpoint_ = true;
}

void TraceWriter::put_baseline_block(const AllocEvent& event, uint64_t back, uint32_t flags) {
    unsigned char body[8 * format::kMaxVarintBytes];
    unsigned char* out = format::put_uv(body, back);
    out = put_shape(out, event);
    out = format::put_address(out, event.address, baseline_address_);
    baseline_address_ = event.address;
    out = format::put_uv(out, flags);
    put_summary_record(format::SummaryType::kBaselineBlock, body, static_cast<size_t>(out - body));
}

void TraceWriter::end_checkpoint() {
    if (!in_checkpoint_ || target_ == nullptr) {
        return;
    }
    standing_.write_to(*this);
    put_summary(format::SummaryType::kCheckpointEnd, &checkpoint_generation_, 1);
    in_checkpoint_ = false;
    if (target_ == nullptr) {
        return;
    }
    seal_chunk(summary_);
    // Writing checkpoints may cost at most a quarter of writing events.
    segment_chunks_ = std::max(least_segment_chunks(), 4 * checkpoint_parts_);
    events_chunks_ = 0;
    while (keep_.kind == Keep::Kind::kPeak && ring_.segment_count() > 1) {
        release_oldest_slow();
    }
}

}  // namespace peakline::record
