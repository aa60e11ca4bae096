// Chunk by chunk: checksum, continuity of the counters in the headers, gaps.
#include "event_stream.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

bool may_hold_events(const ChunkEntry& chunk) {
    return chunk.header.type != static_cast<uint16_t>(format::ChunkType::kDefs) &&
           chunk.header.type != static_cast<uint16_t>(format::ChunkType::kSummary);
}

}  // namespace

EventStream::EventStream(const ByteSource& source,
                         const std::vector<ChunkEntry>& chunks,
                         const Checkpoint* checkpoint)
    : source_(source), chunks_(chunks) {
    if (checkpoint != nullptr) {
        next_event_ = checkpoint->first_event;
        position_.next_ordinal = checkpoint->blocks.size();
        position_.tick = checkpoint->tick;
        position_.baseline_backs = checkpoint->backs;
    }
}

std::string EventStream::chunk_text() const {
    return source_.name() + ": chunk " + std::to_string(chunks_[number_].number);
}

double EventStream::fraction_done() const {
    return static_cast<double>(next_number_) /
           static_cast<double>(std::max<size_t>(chunks_.size(), 1));
}

bool EventStream::next_chunk() {
    while (next_number_ < chunks_.size()) {
        number_ = next_number_++;
        const ChunkEntry& chunk = chunks_[number_];
        if (!chunk.readable && may_hold_events(chunk)) {
            // The index has reported why.
            ++totals_.skipped_chunk_count;
            after_gap_ = true;
            totals_.clean_end = false;
        }
        if (!chunk.is(format::ChunkType::kEvents)) {
            continue;
        }
        if (read_payload(source_, chunk, chunk.number, scratch_, &payload_) ==
            ChunkState::kChecksumDiffers) {
            skip_chunk(" checksum differs: chunk skipped");
            continue;
        }
        if (!chunk.sealed() && !last_of_its_type()) {
            totals_.problems.add(chunk_text() +
                                 " was never sealed though later ones follow:"
                                 " read without its checksum");
        }
        if (after_gap_) {
            resume_after_gap(chunk.header);
        } else {
            check_continuity(chunk.header);
        }
        position_.tick = std::max(position_.tick, chunk.header.first_tick);
        position_.address = chunk.header.base_address;
        return true;
    }
    return false;
}

void EventStream::skip_chunk(const std::string& reason) {
    totals_.problems.add(chunk_text() + reason);
    ++totals_.skipped_chunk_count;
    after_gap_ = true;
    totals_.clean_end = false;
}

bool EventStream::last_of_its_type() const {
    return std::none_of(
        chunks_.begin() + static_cast<ptrdiff_t>(next_number_),
        chunks_.end(),
        [](const ChunkEntry& chunk) { return chunk.is(format::ChunkType::kEvents); });
}

// Skipped chunks had allocations, too: the header gives the number of allocations before this
// chunk.
void EventStream::resume_after_gap(const format::ChunkHeader& header) {
    after_gap_ = false;
    const bool plausible =
        header.first_ordinal >= position_.next_ordinal &&
        header.first_ordinal - position_.baseline_backs.size() <= (number_ + 1) * kMaxAllocsInChunk;
    if (plausible) {
        position_.next_ordinal = header.first_ordinal;
        next_event_ = header.first_event;
    } else {
        totals_.problems.add(chunk_text() + " has a header that begins at allocation " +
                             std::to_string(header.first_ordinal) + ", but " +
                             std::to_string(position_.next_ordinal) +
                             " precede it: frees after it may be matched wrongly");
    }
}

void EventStream::check_continuity(const format::ChunkHeader& header) {
    if (header.first_ordinal == position_.next_ordinal && header.first_event == next_event_) {
        return;
    }
    totals_.problems.add(chunk_text() + " has a header that begins at event " +
                         std::to_string(header.first_event) + " and allocation " +
                         std::to_string(header.first_ordinal) + ", but " +
                         std::to_string(next_event_) + " events and " +
                         std::to_string(position_.next_ordinal) + " allocations precede it");
    // Both counters ahead: a chunk is missing. One alone: that counter is damaged.
    if (header.first_ordinal > position_.next_ordinal && header.first_event > next_event_) {
        resume_after_gap(header);
    }
}

void EventStream::finish_chunk(const ChunkEnd& end) {
    const ChunkEntry& chunk = chunks_[number_];
    totals_.event_count += end.event_count;
    next_event_ += end.event_count;
    totals_.payload_bytes += payload_.size();
    ++totals_.chunk_count;
    totals_.clean_end = end.ends_process || (totals_.clean_end && payload_.empty());
    if (end.fault != nullptr) {
        // The cut destroyed the last record of the chunk; the index has reported it.
        if (!chunk.cut()) {
            totals_.problems.add(chunk_text() + ": the record at byte " +
                                 std::to_string(end.offset) + " does not decode (" + end.fault +
                                 "): rest of the chunk skipped");
            ++totals_.skipped_chunk_count;
        }
        after_gap_ = true;
    } else if (chunk.cut()) {
        after_gap_ = true;
    } else if (chunk.sealed() && end.event_count != chunk.header.event_count) {
        totals_.problems.add(chunk_text() + " holds " + std::to_string(end.event_count) +
                             " events, but its header counts " +
                             std::to_string(chunk.header.event_count));
    }
}

EventTotals EventStream::take_totals() {
    totals_.alloc_count = position_.next_ordinal;
    totals_.last_tick = position_.tick;
    return std::move(totals_);
}

}  // namespace peakline::report
