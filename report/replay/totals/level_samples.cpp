#include "level_samples.h"

namespace peakline::report {

void LevelSampler::restore(const Checkpoint& checkpoint) {
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        const BaselineBlock& block = checkpoint.blocks[ordinal];
        if (!block.is_deferred || question_.measure != format::Measure::kAllocated) {
            add(ordinal, block.shape, 1);
        }
    }
}

void LevelSampler::take_sample(uint64_t tick) {
    for (const uint32_t slot : touched_) {
        is_touched_[slot] = false;
        SlotChange gained = std::exchange(since_[slot], SlotChange());
        if (gained.bytes != 0 || gained.requested_bytes != 0 || gained.count != 0) {
            gained.slot = slot;
            samples_.changes.push_back(gained);
        }
    }
    touched_.clear();
    samples_.ends.push_back(samples_.changes.size());
    samples_.ticks.push_back(tick);
    set_next_bound();
}

void LevelSampler::set_next_bound() {
    const size_t next = samples_.ends.size();
    const std::vector<uint64_t>& bounds = question_.bounds;
    next_bound_ = next < bounds.size() ? bounds[next] : UINT64_MAX;
}

LevelSamples LevelSampler::finish(EventTime end) {
    before_event(end);
    return std::move(samples_);
}

}  // namespace peakline::report
