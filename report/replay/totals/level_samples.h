// What slots held at chosen moments of a run. A slot is a context, or whatever a caller numbers
// blocks by. Kept as differences from moment to moment: memory follows what changed, not the number
// of slots times that of moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/levels/device_trackers.h"

namespace peakline::report {

// Rising. An event with this number, or of this tick, is the first one that no longer counts.
struct SampleMoments {
    enum class Clock { kEvents, kTicks };
    Clock clock = Clock::kEvents;
    std::vector<uint64_t> bounds;
};

struct SampleQuestion {
    SampleMoments moments;
    format::Measure measure = format::Measure::kAllocated;
    std::optional<uint32_t> device;                        // nullopt: the sum of all
    const std::vector<uint32_t>* slot_of_block = nullptr;  // by ordinal; without: the context
};

struct SlotChange {
    uint32_t slot = 0;
    int64_t bytes = 0;
    int64_t count = 0;
};

struct LevelSamples {
    std::vector<SlotChange> changes;
    std::vector<size_t> ends;  // by sample: of its changes, which begin where those before it end
};

class LevelSampler : public BlockFollower {
public:
    explicit LevelSampler(SampleQuestion question) : question_(std::move(question)) {}

    void restore(const Checkpoint& checkpoint);
    void before_event(EventTime at) {
        const uint64_t now =
            question_.moments.clock == SampleMoments::Clock::kEvents ? at.event : at.tick;
        while (now >= next_bound_) {
            take_sample();
        }
    }
    void on_alloc(const BlockAlloc& block) { add(block.ordinal, block.shape, 1); }
    void on_free(const BlockFree& block) {
        if (block.leaves(question_.measure)) {
            add(block.ordinal, block.shape, -1);
        }
    }
    // What the interpreter frees after main says nothing about the run.
    void on_main_end(EventTime) {
        is_over_ = true;
        next_bound_ = UINT64_MAX;
    }

    // Call after the pass. Moments that main or the trace did not reach have no sample.
    LevelSamples finish(EventTime end);

private:
    struct Held {
        int64_t bytes = 0;
        int64_t count = 0;
    };

    void add(uint64_t ordinal, const AllocationShape& shape, int64_t sign) {
        if (is_over_ || (question_.device.has_value() && shape.device != *question_.device)) {
            return;
        }
        const uint32_t slot = question_.slot_of_block != nullptr
                                  ? (*question_.slot_of_block)[ordinal]
                                  : shape.context;
        if (slot >= since_.size()) {
            since_.resize(slot + 1);
            is_touched_.resize(slot + 1);
        }
        if (!is_touched_[slot]) {
            is_touched_[slot] = true;
            touched_.push_back(slot);
        }
        since_[slot].bytes += sign * static_cast<int64_t>(bytes_of(shape, question_.measure));
        since_[slot].count += sign;
    }
    void take_sample();
    void set_next_bound();

    SampleQuestion question_;
    uint64_t next_bound_ =
        question_.moments.bounds.empty() ? UINT64_MAX : question_.moments.bounds.front();
    bool is_over_ = false;
    std::vector<Held> since_;  // by slot: gained since the last sample
    std::vector<bool> is_touched_;
    std::vector<uint32_t> touched_;
    LevelSamples samples_;
};

}  // namespace peakline::report
