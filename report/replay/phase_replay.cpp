#include "phase_replay.h"

#include <algorithm>
#include <utility>

#include "block_stream.h"
#include "device_trackers.h"
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

class PhaseReplay : public BlockFollower {
public:
    PhaseReplay(const BlockStream& stream, const PhaseRules& rules, PhaseRequest request)
        : stream_(stream),
          request_(std::move(request)),
          totals_(request_.measure,
                  request_.sum_devices ? DeviceSum::kAll : DeviceSum::kEach,
                  stream.reader().max_alloc_count()),
          follower_(stream.definitions(), rules, meter_),
          facts_(stream.reader(), rules, request_.ordinals) {}

    // What was live at the checkpoint counts as made there, in no phase.
    void restore(const Checkpoint& checkpoint);

    void on_alloc(const BlockAlloc& block) {
        const AllocationShape& shape = block.shape;
        const uint32_t track = follower_.on_alloc(shape.context, block.ordinal, block.at);
        meter_.on_alloc(
            totals_.slot_of(shape.device), bytes_of(shape, request_.measure), block.at.tick);
        totals_.on_alloc(block.ordinal, shape, block.at.tick);
        if (facts_.is_used()) {
            facts_.on_alloc(block.ordinal, shape.context, block.address, track, block.at);
        }
    }

    void on_free(const BlockFree& block) {
        follower_.on_free(block.ordinal, block.at);
        // What is freed after the end of main was held to the end.
        const bool is_followed = facts_.is_used() && !is_main_over_;
        if (block.leaves(request_.measure)) {
            meter_.on_free(totals_.slot_of(block.shape.device),
                           bytes_of(block.shape, request_.measure));
            totals_.on_free(block.ordinal, block.shape);
            if (is_followed) {
                facts_.on_free(block.ordinal, context_of(block), block.at);
            }
        } else if (is_followed && block.kind == FreeKind::kDeferred) {
            facts_.on_given_up(block.ordinal, context_of(block));
        }
    }

    void on_main_end(EventTime) {
        is_main_over_ = true;
        totals_.end_main();
    }
    void on_rare(const RareEvent& event, EventTime at);

    PhaseResult finish();

private:
    uint32_t context_of(const BlockFree& block) const {
        return stream_.definitions().known_context(block.context);
    }
    void restore_totals(DeviceView& totals, const SummaryView& view) const;
    void add_note(uint64_t tick, const RareEvent& event);

    // More is damage.
    static constexpr uint64_t kMaxRestoredDepth = 1000;

    const BlockStream& stream_;
    PhaseRequest request_;
    DeviceTrackers totals_;
    LevelMeter meter_;
    PhaseFollower follower_;
    FactKeeper facts_;
    std::vector<TraceNote> notes_;
    uint64_t note_count_ = 0;
    bool is_main_over_ = false;
};

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
    for (const PhaseSummary& phase : checkpoint.phases) {
        for (uint64_t depth = 0; depth < phase.depth && depth < kMaxRestoredDepth; ++depth) {
            follower_.restore_named(phase.name, {0, checkpoint.tick});
        }
    }
}

// Several devices have levels that add up, and no peak together.
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
    const bool is_mark = event.type == format::ExtendedType::kMark;
    const auto kind = static_cast<format::MarkKind>(is_mark ? event.fields[0] : 0);
    if (kind == format::MarkKind::kTracingStarted) {
        meter_.start_tracing(at.tick);
        totals_.start(at.tick);
    } else if (kind == format::MarkKind::kNote) {
        add_note(at.tick, event);
    }
    follower_.on_rare(event, at);
    if (kind == format::MarkKind::kTracingStopped) {
        meter_.stop_tracing();
        totals_.stop();
    }
}

void PhaseReplay::add_note(uint64_t tick, const RareEvent& event) {
    if (note_count_++ < PhaseResult::kMaxNotes) {
        notes_.push_back(
            {tick, static_cast<uint32_t>(event.fields[2]), meter_.close(meter_.open(tick))});
    }
}

PhaseResult PhaseReplay::finish() {
    PhaseResult result;
    result.table = follower_.finish(stream_.end());
    result.notes = std::move(notes_);
    result.note_count = note_count_;
    result.facts = facts_.take();
    result.devices = all_totals(totals_);
    result.health = stream_.health();
    return result;
}

}  // namespace

PhaseResult replay_phases(const TraceReader& reader,
                          const PhaseRules& rules,
                          PhaseRequest request,
                          const Progress& progress) {
    BlockStream stream(reader);
    PhaseReplay phases(stream, rules, std::move(request));
    stream.run(progress, phases);
    return phases.finish();
}

}  // namespace peakline::report
