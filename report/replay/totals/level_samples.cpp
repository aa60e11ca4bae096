#include "level_samples.h"

namespace peakline::report {

// The checkpoint's values are differences from its last sample.
void LevelSampler::restore(const Checkpoint& checkpoint) {
    if (question_.with_earlier && checkpoint.steps) {
        restore_samples(*checkpoint.steps);
    }
    for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
        const BaselineBlock& block = checkpoint.blocks[ordinal];
        if (!block.is_deferred || question_.measure != format::Measure::kAllocated) {
            add(ordinal, block.shape, 1);
        }
    }
}

void LevelSampler::restore_samples(const StepHistory& steps) {
    const bool is_allocated = question_.measure == format::Measure::kAllocated;
    size_t at = 0;
    for (const StepSample& sample : steps.samples) {
        for (; at < sample.change_end; ++at) {
            const StepChange& change = steps.changes[at];
            if (!is_counted(question_.device, change.device)) {
                continue;
            }
            const int64_t bytes = is_allocated ? change.block_bytes : change.requested_bytes;
            samples_.changes.push_back(
                {change.context, bytes, change.requested_bytes, change.count});
            SlotChange& since = touch(change.context);
            since.bytes = wrapped_sum(since.bytes, -static_cast<uint64_t>(bytes));
            since.requested_bytes =
                wrapped_sum(since.requested_bytes, -static_cast<uint64_t>(change.requested_bytes));
            since.count -= change.count;
        }
        end_sample(sample.tick);
    }
    earlier_count_ = samples_.ends.size();
    set_next_bound();
}

void LevelSampler::end_sample(uint64_t tick) {
    samples_.ends.push_back(samples_.changes.size());
    samples_.ticks.push_back(tick);
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
    end_sample(tick);
    set_next_bound();
}

void LevelSampler::set_next_bound() {
    const size_t next = samples_.ends.size() - earlier_count_;
    const std::vector<uint64_t>& bounds = question_.bounds;
    next_bound_ = next < bounds.size() ? bounds[next] : UINT64_MAX;
}

LevelSamples LevelSampler::finish(EventTime end) {
    before_event(end);
    return std::move(samples_);
}

}  // namespace peakline::report
