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

bool BlockStream::look_at(const RareEvent& event, uint64_t tick) {
    health_.on_rare(event);
    const auto mark = event.as<format::Mark>();
    const bool ends_main =
        mark.has_value() && mark->kind == format::MarkKind::kMainEnd && !main_end_tick_.has_value();
    if (ends_main) {
        main_end_tick_ = tick;
    }
    return ends_main;
}

TraceHealth BlockStream::health() const {
    TraceHealth health = health_.finish(reader_, totals_);
    health.last_tick = main_end_tick_.value_or(totals_.last_tick);
    return health;
}

}  // namespace peakline::report
