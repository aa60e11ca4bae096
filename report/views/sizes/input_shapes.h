// The batch and the length of a run, by the shapes of its inputs: texts are [batch, tokens] of
// integers, images [batch, channels, height, width], other sequences [batch, length, features].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/blocks/block_stream.h"
#include "sizes_text.h"

namespace peakline::report {

class InputShapes : public BlockFollower {
public:
    InputShapes(StackLookup& stacks, uint32_t device) : stacks_(stacks), device_(device) {}

    void on_alloc(const BlockAlloc& block);
    // The size that all inputs agree on; nullopt: there are none, or their shapes differ.
    std::optional<StepSize> size() const;

private:
    // The blocks of one stack. A stack that copies weights makes one of each shape.
    struct Maker {
        bool may_make_inputs = false;
        uint32_t type = 0;
        uint64_t count = 0;
        bool is_of_one_shape = true;
    };

    StackLookup& stacks_;
    uint32_t device_;
    std::map<uint32_t, Maker> makers_;  // by context
};

}  // namespace peakline::report
