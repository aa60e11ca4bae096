// The steps of a program: the end of each, the peak within it, and the bytes of each context at its
// end. For traces that do not keep every event: a checkpoint writes it, so that growth over the
// whole run is known. Used by the recorder under its lock. Never calls malloc.
//
// Note [Step history]
// A step ends with optimizer.step(). Optimizers and zero_grad() directly after it, with no block
// made in between, belong to it: the rule of report/replay/phases/step_follower.h. An optimizer
// that runs a backward pass, in its closure, makes a step of its own. A step that the program marks
// ends at the begin of the next one, and marks take precedence. Without steps, the checkpoints are
// the samples.
//
// There is room for kMostSamples samples. When it is full, every two become one, and from then on
// each covers twice as many steps: sample n (from 0) belongs to step (n + 1) * steps_per_sample()
// - 1. The bytes of contexts are kept as differences from sample to sample.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"
#include "allocator/record/tables/mapped_array.h"
#include "live_set.h"

namespace peakline::record {

enum class StepAction {
    kNone,
    kOptimizerBegun,
    kOptimizerEnded,
    kZeroGradBegun,
    kZeroGradEnded,
    kBackwardBegun
};

class StepHistory {
public:
    static constexpr size_t kMostSamples = format::kMostStepSamples;
    static constexpr size_t kMostChanges = size_t{1} << 14;
    // Each slot is a context on a device.
    static constexpr size_t kMostSlots = size_t{1} << 16;

    // The recorder at the end of a step.
    struct Moment {
        uint64_t tick;
        uint64_t next_ordinal;
        uint64_t level_bytes;  // of all GPUs
        uint64_t peak_bytes;   // of all GPUs, since the sample before
    };
    struct Sample {
        Moment at;
        size_t change_end;  // in changes()
    };
    struct Change {
        uint32_t slot;
        int64_t block_bytes;
        int64_t requested_bytes;
        int64_t count;
    };
    struct ContextOnDevice {
        uint32_t context;
        uint32_t device;
    };

    // Forgets everything. False when memory cannot be mapped.
    bool begin_trace();

    // True: a step ends here, or an action that belongs to the last step. Its sample is due.
    bool ends_optimizer_step(StepAction action, uint64_t next_ordinal);
    bool ends_marked_step();
    bool ends_part() const { return source_ == format::SampleSource::kParts; }
    // An optimizer that runs now, or is the next thing to begin, belongs to the last step.
    bool may_go_on(uint64_t next_ordinal) const;
    // Call it if one of them returned true. `peak_bytes` of the moment is since the last call.
    void end_step(const Moment& moment, const LiveSet& live_set);

    format::SampleSource source() const { return source_; }
    // Steps that ended so far.
    uint64_t step_count() const { return step_count_; }
    uint64_t steps_per_sample() const { return steps_per_sample_; }
    const MappedArray<Sample>& samples() const { return samples_; }
    const MappedArray<Change>& changes() const { return changes_; }
    ContextOnDevice key_of(uint32_t slot) const { return slots_[slot].key; }
    // False: some part had no room, and the history is unknown.
    bool is_whole() const { return is_whole_; }

private:
    struct Level {
        int64_t block_bytes = 0;
        int64_t requested_bytes = 0;
        int64_t count = 0;
    };
    struct Slot {
        ContextOnDevice key = {};
        uint32_t next = 0;  // of the same context, plus one; 0: none
        Level now;
        Level last;  // at the last sample
        size_t merged_at = 0;
    };

    void begin_source(format::SampleSource source);
    void measure(const LiveSet& live_set);
    Slot* slot_of(ContextOnDevice key);
    void put_changes();
    void halve();
    bool follows_step(uint64_t next_ordinal) const {
        return step_count_ != 0 && next_ordinal == last_ordinal_;
    }
    bool is_sampled(uint64_t step) const { return (step + 1) % steps_per_sample_ == 0; }

    format::SampleSource source_ = format::SampleSource::kParts;
    bool is_whole_ = true;
    bool resumes_ = false;  // the open optimizer or zero_grad() belongs to the last step
    bool ends_last_again_ = false;
    uint64_t step_count_ = 0;
    uint64_t steps_per_sample_ = 1;
    uint64_t last_ordinal_ = 0;  // next ordinal at the end of the last step
    uint64_t peak_bytes_ = 0;    // since the last sample
    MappedArray<Sample> samples_;
    MappedArray<Change> changes_;
    MappedArray<Slot> slots_;
    MappedArray<uint32_t> first_slots_;  // by context, plus one; 0: none
};

}  // namespace peakline::record
