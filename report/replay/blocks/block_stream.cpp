// The parts of BlockStream that run rarely.
#include "block_stream.h"

#include "report/trace/definitions/event_ids.h"

namespace peakline::report {

void BlockStream::restore(const Checkpoint& checkpoint) {
    table_.restore(checkpoint);
    next_ordinal_ = checkpoint.blocks.size();
    health_.restore(checkpoint);
}

bool BlockStream::make_sense_of(RareEvent* event) {
    const EventIds ids = check_ids(event, definitions());
    health_.unknown_id_count += ids == EventIds::kUnknown ? 1 : 0;
    health_.impossible_event_count += ids == EventIds::kImpossible ? 1 : 0;
    return ids != EventIds::kImpossible;
}

std::optional<uint64_t> BlockStream::ordinal_of(const format::SavedBlock& saved) const {
    const Checkpoint* const checkpoint = reader_.checkpoint();
    const uint64_t first = checkpoint != nullptr ? checkpoint->blocks.size() : 0;
    return saved.back != 0 && saved.back <= next_ordinal_ - first
               ? std::optional(next_ordinal_ - saved.back)
               : std::nullopt;
}

bool BlockStream::look_at(const RareEvent& event, uint64_t tick) {
    const bool main_had_ended = health_.main_end_tick.has_value();
    health_.on_rare(event, tick);
    return health_.main_end_tick.has_value() && !main_had_ended;
}

TraceHealth BlockStream::health() const {
    return health_.finish(reader_, totals_);
}

}  // namespace peakline::report
