#include "fact_follower.h"

#include <algorithm>

namespace peakline::report {

void FactFollower::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        BlockFacts facts;
        facts.is_restored = true;
        if (const auto step = checkpoint.step_of(checkpoint.blocks[ordinal])) {
            facts.earlier_step = static_cast<uint32_t>(*step);
        }
        add(ordinal, facts);
    }
}

void FactFollower::on_alloc(const BlockAlloc& block) {
    if (levels_.is_new_peak(block)) {
        forget_freed(levels_.slot_of(block.shape.device));
    }
    const uint32_t thread = phases_.last_thread();
    calls_.on_alloc(block.ordinal, block.shape.context, thread, [this](uint64_t ordinal) {
        if (BlockFacts* facts = find(ordinal)) {
            facts->within_operator = true;
        }
    });
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
    // The context of the program's free, also for a deferred free that completes later because
    // another stream used the block.
    facts.free_context = facts.free_context != 0
                             ? facts.free_context
                             : stream_.definitions().known_context(block.context);
    if (!block.leaves(levels_.measure())) {
        return;
    }
    const bool within_operator = calls_.on_free(block.ordinal);
    if (!levels_.is_of_moment(block)) {
        forget(block.ordinal);
        return;
    }
    facts.free_event = block.at.event;
    facts.free_tick = block.at.tick;
    facts.within_operator = within_operator;
    const uint32_t slot = levels_.slot_of(block.shape.device);
    freed_.resize(std::max<size_t>(freed_.size(), slot + 1));
    freed_[slot].push_back(block.ordinal);
}

void FactFollower::on_saved(const BlockSaved& block) {
    if (BlockFacts* const facts = find(block.ordinal)) {
        facts->saved_tick = block.at.tick;
        facts->saved_context = block.context;
    }
}

void FactFollower::forget_freed(uint32_t slot) {
    if (slot < freed_.size()) {
        for (const uint64_t ordinal : freed_[slot]) {
            forget(ordinal);
        }
        freed_[slot].clear();
    }
}

}  // namespace peakline::report
