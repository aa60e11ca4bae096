// The inputs of a run's steps: tensors that the program copied to the device or drew at random
// there, outside of its model. Their sizes separate growth of inputs from growth of the program.
//
// Note [Inputs of steps]
// An input is made by one stack at least once in every sample, by an operator that takes nothing
// from the device: a copy (aten::_to_copy, which may copy from the host) or a random factory; and
// in no phase of training. A copy within the device makes a tensor of the same shape as a live one:
// a stack that does so in half of its calls is no input. The shape must be known. The last input
// before the end of a step counts, because the memory live then is made from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/blocks/block_stream.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

// The inputs made by one stack.
struct StepInputs {
    uint32_t context = 0;
    std::vector<uint32_t> types;    // by sample; 0: none
    std::vector<int64_t> elements;  // the same; 0: none
};

// The growth of an input between two samples, described by its shape.
struct InputRise {
    std::string noun;  // "lengths", "inputs"
    std::string unit;  // "token", "position", "row", "element"
    uint64_t from_count = 0;
    uint64_t to_count = 0;
    uint64_t elements_per_unit = 1;
    uint64_t batch = 1;  // number of them at once
};
InputRise describe_rise(const Definitions& definitions,
                        const StepInputs& inputs,
                        size_t from_sample,
                        size_t to_sample);
// Whether a tensor of this type has the dimension in which the inputs differ.
bool has_length_of(const Definitions& definitions, uint32_t type, const InputRise& rise);

// Whether a stack may make an input: see Note [Inputs of steps].
bool may_make_inputs(StackLookup& stacks, uint32_t context);

class InputSampler : public BlockFollower {
public:
    // `bounds`: as for LevelSampler, after `earlier_count` earlier samples.
    InputSampler(StackLookup& stacks,
                 std::vector<uint64_t> bounds,
                 size_t earlier_count,
                 std::optional<uint32_t> device);

    void restore(const Checkpoint& checkpoint);
    void before_event(EventTime at) {
        while (!is_over_ && sample_ < bounds_.size() && at.event >= bounds_[sample_]) {
            end_sample();
        }
    }
    void on_alloc(const BlockAlloc& block) { add(block.ordinal, block.shape); }
    void on_free(const BlockFree& block) {
        if (block.leaves(format::Measure::kAllocated)) {
            remove(block.ordinal, block.shape);
        }
    }
    void on_main_end(EventTime) { is_over_ = true; }

    // Returns the inputs that have a shape in every sample except the first, and not always the
    // same one. The largest first.
    std::vector<StepInputs> finish(EventTime end);

private:
    enum class Role : uint8_t { kUnknown, kInput, kOther };
    struct Candidate {
        StepInputs inputs;
        uint32_t type = 0;  // the type of the latest one
        uint64_t made_count = 0;
        uint64_t copied_count = 0;  // copies that seem to be of a live tensor
    };

    void add(uint64_t ordinal, const AllocationShape& shape);
    void remove(uint64_t ordinal, const AllocationShape& shape);
    void end_sample();
    Role role_of(uint32_t context);

    StackLookup& stacks_;
    const Definitions& definitions_;
    std::vector<uint64_t> bounds_;
    size_t earlier_count_;
    std::optional<uint32_t> device_;
    size_t sample_ = 0;
    bool is_over_ = false;
    std::vector<uint32_t> shape_of_type_;  // equal for equal shapes, by type id
    std::vector<uint64_t> live_of_shape_;  // blocks that are no inputs
    std::vector<Role> roles_;              // by context
    std::map<uint32_t, Candidate> candidates_;
};

}  // namespace peakline::report
