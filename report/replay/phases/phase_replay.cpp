#include "phase_replay.h"

#include <utility>

namespace peakline::report {

void PhaseReplay::restore(const Checkpoint& checkpoint) {
    for (const BaselineBlock& block : checkpoint.blocks) {
        if (request_.measure == format::Measure::kRequested || !block.is_deferred) {
            meter_.on_alloc(totals_.slot_of(block.shape.device),
                            bytes_of(block.shape, request_.measure),
                            checkpoint.tick);
        }
    }
    totals_.set_newest_ordinal(checkpoint.blocks.size());
    for (const SummaryView& view : checkpoint.views) {
        if (view.measure == request_.measure) {
            restore_totals(totals_.view_of(view.device), view);
        }
    }
    if (checkpoint.tracing) {
        follower_.restore_tracing();
        meter_.start_tracing(checkpoint.tick);
        totals_.start(checkpoint.tick);
    }
    follower_.restore_steps(checkpoint);
    if (checkpoint.standing) {
        for (const RareEvent& event : checkpoint.standing->records) {
            if (event.type == format::ExtendedType::kScope) {
                follower_.on_rare(event, {0, checkpoint.tick});
            }
        }
    }
    for (const PhaseSummary& phase : checkpoint.phases) {
        for (uint64_t depth = 0; depth < phase.depth && depth < kMaxRestoredDepth; ++depth) {
            follower_.restore_named(phase.name, {0, checkpoint.tick});
        }
    }
}

// The levels of several devices add up, their peaks do not.
void PhaseReplay::restore_totals(DeviceView& totals, const SummaryView& view) const {
    const uint64_t level_bytes = totals.tracker.level_bytes() + view.level_bytes;
    const bool adds_up = request_.sum_devices && level_bytes != view.level_bytes;
    totals.tracker.restore(level_bytes,
                           adds_up ? 0 : view.peak_bytes,
                           adds_up ? 0 : view.peak_tick,
                           adds_up ? 0 : view.total_allocated_bytes);
    totals.alloc_count += view.alloc_count;
    totals.free_count += view.free_count;
}

void PhaseReplay::on_rare(const RareEvent& event, EventTime at) {
    const auto mark = event.as<format::Mark>();
    const auto kind = mark.has_value() ? mark->kind : format::MarkKind{};
    if (kind == format::MarkKind::kTracingStarted) {
        meter_.start_tracing(at.tick);
        totals_.start(at.tick);
    } else if (kind == format::MarkKind::kNote) {
        add_note(at.tick, mark->text);
    }
    follower_.on_rare(event, at);
    if (kind == format::MarkKind::kTracingStopped) {
        meter_.stop_tracing();
        totals_.stop();
    }
}

void PhaseReplay::add_note(uint64_t tick, uint64_t text) {
    if (note_count_++ < PhaseResult::kMaxNotes) {
        notes_.push_back({tick, static_cast<uint32_t>(text), meter_.close(meter_.open(tick))});
    }
}

PhaseResult PhaseReplay::finish() {
    PhaseResult result;
    result.table = follower_.finish(stream_.end());
    result.notes = std::move(notes_);
    result.note_count = note_count_;
    result.devices = all_totals(totals_);
    result.health = stream_.health();
    return result;
}

PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          const PhaseRequest& request,
                          const Progress& progress) {
    BlockStream stream(reader);
    PhaseReplay phases(stream, rules, request);
    stream.run(progress, phases);
    return phases.finish();
}

}  // namespace peakline::report
