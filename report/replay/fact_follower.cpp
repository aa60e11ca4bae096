#include "fact_follower.h"

#include <algorithm>

namespace peakline::report {

void FactFollower::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        add(ordinal, {});
    }
}

void FactFollower::on_alloc(const BlockAlloc& block) {
    if (levels_.is_new_peak(block)) {
        forget_freed(levels_.slot_of(block.shape.device));
    }
    const uint32_t thread = phases_.last_thread();
    call_of(block.shape.context, thread).live.push_back(block.ordinal);
    BlockFacts facts;
    facts.alloc_event = block.at.event;
    facts.alloc_tick = block.at.tick;
    facts.address = block.address;
    facts.track_thread = thread;
    add(block.ordinal, facts);
}

void FactFollower::on_free(const BlockFree& block) {
    BlockFacts* const found = find(block.ordinal);
    if (is_main_over_ || found == nullptr) {
        return;
    }
    BlockFacts& facts = *found;
    // Where the program freed it, also when it ends later: another stream used it until then.
    facts.free_context = facts.free_context != 0
                             ? facts.free_context
                             : stream_.definitions().known_context(block.context);
    if (!block.leaves(levels_.measure())) {
        return;
    }
    Call* const call = running_call_of(block.ordinal);
    if (!levels_.is_of_moment(block)) {
        forget(block.ordinal);
        return;
    }
    facts.free_event = block.at.event;
    facts.free_tick = block.at.tick;
    if (call != nullptr) {
        facts.within_operator = !call->live.empty() && call->live.front() < block.ordinal;
        call->freed.push_back(block.ordinal);
    }
    const uint32_t slot = levels_.slot_of(block.shape.device);
    freed_.resize(std::max<size_t>(freed_.size(), slot + 1));
    freed_[slot].push_back(block.ordinal);
}

void FactFollower::forget_freed(uint32_t slot) {
    if (slot < freed_.size()) {
        for (const uint64_t ordinal : freed_[slot]) {
            forget(ordinal);
        }
        freed_[slot].clear();
    }
}

// The call that made this block, if it is the last one of its thread; forgets the block.
FactFollower::Call* FactFollower::running_call_of(uint64_t ordinal) {
    for (auto& [thread, call] : calls_) {
        const auto found = std::lower_bound(call.live.begin(), call.live.end(), ordinal);
        if (found != call.live.end() && *found == ordinal) {
            call.live.erase(found);
            return &call;
        }
    }
    return nullptr;
}

FactFollower::Call& FactFollower::call_of(uint32_t context, uint32_t thread) {
    const ContextPhase phase =
        context < rules_.contexts.size() ? rules_.contexts[context] : ContextPhase();
    const auto [found, is_new] = calls_.try_emplace(thread, Call{phase.operator_key});
    Call& call = found->second;
    const bool again =
        std::find(call.contexts.begin(), call.contexts.end(), context) != call.contexts.end();
    if (again || call.operator_key != phase.operator_key) {
        call.begin(phase.operator_key);
    }
    // It runs on: what it freed so far it freed itself.
    for (const uint64_t ordinal : call.freed) {
        if (BlockFacts* facts = find(ordinal)) {
            facts->within_operator = true;
        }
    }
    call.freed.clear();
    call.contexts.push_back(context);
    return call;
}

}  // namespace peakline::report
