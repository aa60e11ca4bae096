// The bytes of slots at chosen moments of a run. A slot is a context, or any number that a caller
// gives blocks. Kept as differences from moment to moment, so memory depends on the number of
// changes, not on the number of slots times that of moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/levels/device_trackers.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

struct SampleQuestion {
    // Rising: the event with this number is the first one that no longer counts.
    std::vector<uint64_t> bounds;
    format::Measure measure = format::Measure::kAllocated;
    std::optional<uint32_t> device;  // nullopt: the sum of the GPUs
    // by ordinal; nullptr: the slot is the context
    const std::vector<uint32_t>* slot_of_block = nullptr;
    // Begin with the checkpoint's samples of earlier events. Only if slots are contexts.
    bool with_earlier = false;
};

struct SlotChange {
    uint32_t slot = 0;
    int64_t bytes = 0;
    int64_t requested_bytes = 0;
    int64_t count = 0;
};

// Wraps around instead of overflowing, because a hostile trace may have any sizes.
inline int64_t wrapped_sum(int64_t first, uint64_t second) {
    return static_cast<int64_t>(static_cast<uint64_t>(first) + second);
}

struct LevelSamples {
    std::vector<SlotChange> changes;
    // by sample: end of its changes, which begin at the previous sample's end
    std::vector<size_t> ends;
    std::vector<uint64_t> ticks;  // by sample
};

class LevelSampler : public BlockFollower {
public:
    explicit LevelSampler(SampleQuestion question) : question_(std::move(question)) {}

    void restore(const Checkpoint& checkpoint);
    void before_event(EventTime at) {
        while (at.event >= next_bound_) {
            take_sample(at.tick);
        }
    }
    void on_alloc(const BlockAlloc& block) { add(block.ordinal, block.shape, 1); }
    void on_free(const BlockFree& block) {
        if (block.leaves(question_.measure)) {
            add(block.ordinal, block.shape, -1);
        }
    }
    // Frees by the interpreter after main say nothing about the run.
    void on_main_end(EventTime) {
        is_over_ = true;
        next_bound_ = UINT64_MAX;
    }

    // Call it after the pass. Moments that main or the trace did not reach have no sample.
    LevelSamples finish(EventTime end);

private:
    void add(uint64_t ordinal, const AllocationShape& shape, int64_t sign) {
        if (is_over_ || !is_counted(question_.device, shape.device)) {
            return;
        }
        const uint32_t slot = question_.slot_of_block != nullptr
                                  ? (*question_.slot_of_block)[ordinal]
                                  : shape.context;
        const auto factor = static_cast<uint64_t>(sign);
        SlotChange& since = touch(slot);
        since.bytes = wrapped_sum(since.bytes, factor * bytes_of(shape, question_.measure));
        since.requested_bytes = wrapped_sum(since.requested_bytes, factor * shape.requested_bytes);
        since.count += sign;
    }
    SlotChange& touch(uint32_t slot) {
        if (slot >= since_.size()) {
            since_.resize(slot + 1);
            is_touched_.resize(slot + 1);
        }
        if (!is_touched_[slot]) {
            is_touched_[slot] = true;
            touched_.push_back(slot);
        }
        return since_[slot];
    }
    void take_sample(uint64_t tick);
    void end_sample(uint64_t tick);
    void restore_samples(const StepHistory& steps);
    void set_next_bound();

    SampleQuestion question_;
    uint64_t next_bound_ = question_.bounds.empty() ? UINT64_MAX : question_.bounds.front();
    bool is_over_ = false;
    std::vector<SlotChange> since_;  // by slot: growth since the last sample
    std::vector<bool> is_touched_;
    std::vector<uint32_t> touched_;
    LevelSamples samples_;
    size_t earlier_count_ = 0;  // number of samples from the checkpoint
};

}  // namespace peakline::report
