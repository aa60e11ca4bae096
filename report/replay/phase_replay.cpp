#include "phase_replay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "allocation_table.h"
#include "device_trackers.h"
#include "event_health.h"
#include "phase_follower.h"

namespace peakline::report {
namespace {

// Follows the blocks asked for. Also tells when an operator call gives way to another: each
// allocation of a track belongs to the call before it unless its stack is another one, or
// the very same context comes again.
class FactKeeper {
public:
    FactKeeper(const TraceReader& reader, const PhaseRules& rules, std::vector<uint64_t> ordinals)
        : rules_(rules), ordinals_(std::move(ordinals)), facts_(ordinals_.size()) {
        if (!ordinals_.empty()) {
            is_wanted_.resize(reader.max_alloc_count() + 1);
        }
        for (const uint64_t ordinal : ordinals_) {
            is_wanted_[ordinal] = true;
        }
    }

    bool is_used() const { return !ordinals_.empty(); }

    void on_alloc(
        uint64_t ordinal, uint32_t context, uint64_t address, uint32_t track, EventTime at) {
        Call& call = call_of(context, track);
        call.live.push_back(ordinal);
        if (!is_wanted_[ordinal]) {
            return;
        }
        const size_t place = place_of(ordinal);
        facts_[place].alloc_event = at.event;
        facts_[place].alloc_tick = at.tick;
        facts_[place].address = address;
        facts_[place].track_thread = track;
    }

    void on_free(uint64_t ordinal, uint32_t context, EventTime at) {
        Call* const call = running_call_of(ordinal);
        if (!is_wanted_[ordinal]) {
            return;
        }
        const size_t place = place_of(ordinal);
        BlockFacts& facts = facts_[place];
        facts.free_event = at.event;
        facts.free_tick = at.tick;
        // Where it was given up, also when it ends later: another stream used it until then.
        facts.free_context = facts.free_context != 0 ? facts.free_context : context;
        if (call != nullptr) {
            facts.within_operator = !call->live.empty() && call->live.front() < ordinal;
            call->freed.push_back(place);
        }
    }

    // It stays part of the measure until another stream is done with it.
    void on_given_up(uint64_t ordinal, uint32_t context) {
        if (is_wanted_[ordinal]) {
            facts_[place_of(ordinal)].free_context = context;
        }
    }

    std::vector<BlockFacts> take() { return std::move(facts_); }

private:
    struct Call {
        uint32_t operator_key = 0;
        std::vector<uint32_t> contexts = {};  // that allocated in this call
        std::vector<uint64_t> live = {};      // ordinals of its blocks
        std::vector<size_t> freed = {};       // places of those asked for that are freed
    };

    size_t place_of(uint64_t ordinal) const {
        return static_cast<size_t>(std::lower_bound(ordinals_.begin(), ordinals_.end(), ordinal) -
                                   ordinals_.begin());
    }

    // The call that made this block, if it is the last one of its track; forgets the block.
    Call* running_call_of(uint64_t ordinal) {
        for (auto& [track, call] : calls_) {
            const auto found = std::lower_bound(call.live.begin(), call.live.end(), ordinal);
            if (found != call.live.end() && *found == ordinal) {
                call.live.erase(found);
                return &call;
            }
        }
        return nullptr;
    }

    Call& call_of(uint32_t context, uint32_t track) {
        const ContextPhase said =
            context < rules_.contexts.size() ? rules_.contexts[context] : ContextPhase();
        const auto [found, is_new] = calls_.try_emplace(track, Call{said.operator_key});
        Call& call = found->second;
        const bool again =
            std::find(call.contexts.begin(), call.contexts.end(), context) != call.contexts.end();
        if (again || call.operator_key != said.operator_key) {
            call = Call{said.operator_key};
        }
        // It runs on: what it freed so far it freed itself.
        for (const size_t place : call.freed) {
            facts_[place].within_operator = true;
        }
        call.freed.clear();
        call.contexts.push_back(context);
        return call;
    }

    const PhaseRules& rules_;
    std::vector<uint64_t> ordinals_;
    std::vector<bool> is_wanted_;
    std::vector<BlockFacts> facts_;
    std::map<uint32_t, Call> calls_;  // by the thread of the track
};

class PhaseVisitor {
public:
    PhaseVisitor(const TraceReader& reader, const PhaseRules& rules, PhaseRequest request)
        : reader_(reader),
          request_(std::move(request)),
          table_(reader.definitions().classes.items(), reader.max_alloc_count()),
          totals_(request_.measure,
                  request_.sum_devices ? DeviceSum::kAll : DeviceSum::kEach,
                  reader.max_alloc_count()),
          follower_(reader.definitions(), rules, meter_),
          facts_(reader, rules, request_.ordinals) {
        if (reader.checkpoint() != nullptr) {
            restore_checkpoint(*reader.checkpoint());
        }
    }

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        const AllocationShape* shape = table_.add_class(ordinal, class_id);
        health_.lost_definition_alloc_count += shape == nullptr ? 1 : 0;
        add(ordinal, tick, shape, address);
    }

    void on_alloc_inline(uint64_t ordinal,
                         uint64_t tick,
                         const AllocationShape& shape,
                         uint64_t address) {
        AllocationShape known = shape;
        known.context = reader_.definitions().known_context(shape.context);
        known.untraced = reader_.definitions().is_untraced(known.context);
        health_.unknown_context_count += reader_.definitions().is_lost(shape.context) ? 1 : 0;
        table_.add_inline(ordinal, known);
        add(ordinal, tick, &known, address);
    }

    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t context) {
        const EventTime at{event_++, tick};
        follower_.on_free(ordinal, at);
        const bool was_deferred = table_.is_deferred(ordinal);
        if (!table_.can_free(ordinal, kind)) {
            ++health_.unmatched_free_count;
            return;
        }
        const bool ends = request_.measure == format::Measure::kAllocated
                              ? !was_deferred
                              : kind != FreeKind::kDeferred;
        const AllocationShape* shape = table_.shape(ordinal);
        if (shape != nullptr && ends) {
            meter_.on_free(totals_.slot_of(shape->device), bytes_of(*shape, request_.measure));
            totals_.on_free(ordinal, *shape);
            if (follows_blocks()) {
                facts_.on_free(ordinal, reader_.definitions().known_context(context), at);
            }
        } else if (shape != nullptr && kind == FreeKind::kDeferred && follows_blocks()) {
            facts_.on_given_up(ordinal, reader_.definitions().known_context(context));
        }
        table_.free(ordinal, kind);
    }

    void on_unmatched_free(uint64_t) {
        ++event_;
        ++health_.unmatched_free_count;
    }

    void on_rare(uint64_t tick, const RareEvent& event) {
        const EventTime at{event_++, tick};
        health_.on_rare(event);
        const bool is_mark = event.type == format::ExtendedType::kMark;
        const auto kind = static_cast<format::MarkKind>(is_mark ? event.fields[0] : 0);
        if (kind == format::MarkKind::kTracingStarted) {
            meter_.start_tracing(tick);
            totals_.start(tick);
        } else if (kind == format::MarkKind::kNote) {
            add_note(tick, event);
        } else if (kind == format::MarkKind::kMainEnd && !end_tick_.has_value()) {
            end_tick_ = tick;
            totals_.end_main();
        }
        follower_.on_rare(event, at);
        if (kind == format::MarkKind::kTracingStopped) {
            meter_.stop_tracing();
            totals_.stop();
        }
    }

    PhaseResult finish(const EventTotals& totals) {
        PhaseResult result;
        result.table = follower_.finish({event_, totals.last_tick});
        result.notes = std::move(notes_);
        result.note_count = note_count_;
        result.facts = facts_.take();
        result.devices = all_totals(totals_);
        result.health = health_.finish(reader_, totals);
        result.health.last_tick = end_tick_.value_or(totals.last_tick);
        return result;
    }

private:
    // What is freed after the end of main was held to the end.
    bool follows_blocks() const { return facts_.is_used() && !end_tick_.has_value(); }

    // What was live at the checkpoint counts as made there, in no phase.
    void restore_checkpoint(const Checkpoint& checkpoint) {
        table_.restore(checkpoint);
        for (const BaselineBlock& block : checkpoint.blocks) {
            const bool counts =
                request_.measure == format::Measure::kRequested || !block.is_deferred;
            if (counts) {
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
        for (const PhaseSummary& phase : checkpoint.phases) {
            for (uint64_t depth = 0; depth < phase.depth && depth < kMaxRestoredDepth; ++depth) {
                follower_.restore_named(phase.name, {0, checkpoint.tick});
            }
        }
    }
    // Several devices have levels that add up, and no peak together.
    void restore_totals(DeviceView& totals, const SummaryView& view) const {
        const uint64_t level_bytes = totals.tracker.level_bytes() + view.level_bytes;
        const bool adds_up = request_.sum_devices && level_bytes != view.level_bytes;
        totals.tracker.restore(level_bytes,
                               adds_up ? 0 : view.peak_bytes,
                               adds_up ? 0 : view.peak_tick,
                               adds_up ? 0 : view.total_allocated_bytes);
        totals.alloc_count += view.alloc_count;
        totals.free_count += view.free_count;
    }
    void add_note(uint64_t tick, const RareEvent& event) {
        if (note_count_++ < PhaseResult::kMaxNotes) {
            notes_.push_back(
                {tick, static_cast<uint32_t>(event.fields[2]), meter_.close(meter_.open(tick))});
        }
    }

    // More is damage.
    static constexpr uint64_t kMaxRestoredDepth = 1000;

    void add(uint64_t ordinal, uint64_t tick, const AllocationShape* shape, uint64_t address) {
        const EventTime at{event_++, tick};
        if (shape == nullptr) {
            return;
        }
        const uint32_t track = follower_.on_alloc(shape->context, ordinal, at);
        meter_.on_alloc(totals_.slot_of(shape->device), bytes_of(*shape, request_.measure), tick);
        totals_.on_alloc(ordinal, *shape, tick);
        if (facts_.is_used()) {
            facts_.on_alloc(ordinal, shape->context, address, track, at);
        }
    }

    const TraceReader& reader_;
    PhaseRequest request_;
    AllocationTable table_;
    DeviceTrackers totals_;
    LevelMeter meter_;
    PhaseFollower follower_;
    FactKeeper facts_;
    EventHealth health_;
    std::vector<TraceNote> notes_;
    uint64_t note_count_ = 0;
    uint64_t event_ = 0;
    std::optional<uint64_t> end_tick_;  // of main
};

}  // namespace

PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          PhaseRequest request,
                          const Progress& progress) {
    PhaseVisitor visitor(reader, rules, std::move(request));
    const EventTotals totals = reader.read_events(visitor, progress);
    return visitor.finish(totals);
}

}  // namespace peakline::report
