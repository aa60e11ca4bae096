#include "call_follower.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

// Takes a free off the levels at the end of a call.
void take_from(MemoryLevels* levels, uint64_t bytes, FreeKind kind) {
    levels->allocated_bytes -= kind != FreeKind::kCompleted ? bytes : 0;
    levels->active_bytes -= kind != FreeKind::kDeferred ? bytes : 0;
}

}  // namespace

CallFollower::Track& CallFollower::track_of(uint32_t thread) {
    if (last_track_ == nullptr || last_thread_ != thread) {
        last_track_ = &tracks_[thread];
        last_thread_ = thread;
    }
    return *last_track_;
}

void CallFollower::on_alloc(const MadeBlock& block,
                            const MemoryLevels& before,
                            const MemoryLevels& after) {
    const ContextCall& facts = rules_.contexts[block.context];
    Track& track = track_of(facts.thread);
    follow_operator(track, block, facts, after);
    follow_layers(track, block, facts, before);
    for (OpenLayer& open : track.layers) {
        open.call.after = after;
        open.call.end_tick = block.tick;
        open.call.end_event = block.event + 1;
    }
}

// The same context twice means that the same line ran again.
bool CallFollower::goes_on(const OpenOperator& open,
                           const ContextCall& facts,
                           uint32_t context) const {
    return open.operator_key == facts.operator_key && open.call.operation == facts.operation &&
           std::find(open.contexts.begin(), open.contexts.end(), context) == open.contexts.end();
}

void CallFollower::follow_operator(Track& track,
                                   const MadeBlock& block,
                                   const ContextCall& facts,
                                   const MemoryLevels& after) {
    if (track.operation.has_value() && !goes_on(*track.operation, facts, block.context)) {
        end_operator(track);
    }
    if (facts.operation == 0) {
        return;
    }
    if (!track.operation.has_value()) {
        OpenOperator& open = track.operation.emplace();
        const std::vector<ChainLayer>& chain = rules_.chains[facts.chain];
        open.first_ordinal = block.ordinal;
        open.operator_key = facts.operator_key;
        open.call.operation = facts.operation;
        open.call.layer = chain.empty() ? kNoLayer : chain.back().layer;
        open.call.phase = facts.phase;
        open.call.begin_event = block.event;
        open.call.begin_tick = block.tick;
    }
    OpenOperator& open = *track.operation;
    open.contexts.push_back(block.context);
    ++open.call.alloc_count;
    open.call.allocated_bytes += block.bytes;
    open.call.after = after;
}

void CallFollower::follow_layers(Track& track,
                                 const MadeBlock& block,
                                 const ContextCall& facts,
                                 const MemoryLevels& before) {
    const std::vector<ChainLayer>& chain = rules_.chains[facts.running];
    size_t same = 0;
    while (same < chain.size() && same < track.layers.size() &&
           track.layers[same].call.layer == chain[same].layer &&
           track.layers[same].call.is_called == chain[same].is_called &&
           track.layers[same].call.phase == facts.phase) {
        ++same;
    }
    end_layers(track, same, before);
    const auto is_called = [](const OpenLayer& open) { return open.call.is_called; };
    auto calls_around = std::count_if(track.layers.begin(), track.layers.end(), is_called);
    for (size_t depth = same; depth < chain.size(); ++depth) {
        OpenLayer& open = track.layers.emplace_back();
        open.first_ordinal = block.ordinal;
        open.call.layer = chain[depth].layer;
        open.call.is_called = chain[depth].is_called;
        open.call.depth = static_cast<uint32_t>(calls_around);
        calls_around += chain[depth].is_called ? 1 : 0;
        open.call.phase = facts.phase;
        open.call.begin_event = block.event;
        open.call.begin_tick = block.tick;
        open.call.before = before;
    }
}

// While a call is open, it contains every allocation of its thread since its first block.
void CallFollower::on_free(uint64_t ordinal, uint32_t context, uint64_t bytes, FreeKind kind) {
    Track& track = track_of(rules_.contexts[context].thread);
    if (track.operation.has_value() && ordinal >= track.operation->first_ordinal) {
        take_from(&track.operation->call.after, bytes, kind);
    }
    for (OpenLayer& open : track.layers) {
        if (ordinal < open.first_ordinal) {
            break;
        }
        take_from(&open.call.after, bytes, kind);
    }
}

void CallFollower::end_layers(Track& track, size_t keep, const MemoryLevels& now) {
    while (track.layers.size() > keep) {
        LayerCall& call = track.layers.back().call;
        // After a node has run, the engine releases the tensors that forward saved for it, then the
        // gradient it was given, before any other node runs.
        call.after = call.phase == Phase::kBackward ? now : call.after;
        sinks_.on_layer(call);
        track.layers.pop_back();
    }
}

void CallFollower::end_operator(Track& track) {
    sinks_.on_operator(track.operation->call);
    track.operation.reset();
}

void CallFollower::on_scope(uint32_t thread) {
    const auto track = tracks_.find(thread);
    if (track != tracks_.end() && track->second.operation.has_value()) {
        end_operator(track->second);
    }
}

CallFollower::Track* CallFollower::oldest_track() {
    Track* oldest = nullptr;
    for (auto& [thread, track] : tracks_) {
        if (track.operation.has_value() &&
            (oldest == nullptr ||
             track.operation->call.begin_event < oldest->operation->call.begin_event)) {
            oldest = &track;
        }
    }
    return oldest;
}

uint64_t CallFollower::oldest_operator() {
    const Track* const oldest = oldest_track();
    return oldest != nullptr ? oldest->operation->call.begin_event : UINT64_MAX;
}

void CallFollower::end_oldest_operator() {
    if (Track* const oldest = oldest_track()) {
        end_operator(*oldest);
    }
}

void CallFollower::end_all(const MemoryLevels& now) {
    for (auto& [thread, track] : tracks_) {
        if (track.operation.has_value()) {
            end_operator(track);
        }
        end_layers(track, 0, now);
    }
}

}  // namespace peakline::report
