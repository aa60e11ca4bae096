// The blocks that go into modules, in every forward pass. The recording names them for the first
// call of each module (Note [Inputs of modules]). In a later pass the input is the block from the
// same stack, with the same number among the blocks of this stack since the pass before. A program
// may call its steps from several lines: then it is the block from the same module and operator,
// with the same number among those.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/views/advice/rules/rule.h"

namespace peakline::report {

struct PassBlock {
    uint64_t ordinal = 0;
    uint64_t alloc_event = 0;
    uint64_t free_event = 0;
    uint64_t bytes = 0;

    bool operator==(const PassBlock& other) const { return ordinal == other.ordinal; }
};

class LayerInputs {
public:
    explicit LayerInputs(const RunFacts& run);

    // Call it with every block, in the order they were made.
    void see(const RunBlock& block);

    // The blocks that go into the module with this path, in this pass. nullopt: not known.
    std::optional<std::vector<PassBlock>> of_module(const std::string& path, size_t pass) const;
    // Whether a module outside of `path` got this block of the pass.
    bool leaves(const std::string& path, uint64_t ordinal, size_t pass) const;
    // The youngest block of the pass that no layer made, alive at this event; nullopt: none.
    std::optional<PassBlock> youngest_before(uint64_t event, size_t pass) const;
    void see_outside(const RunBlock& block);

private:
    using OfStack = std::pair<size_t, uint32_t>;                                // pass, context
    using OfOperator = std::tuple<size_t, std::string_view, std::string_view>;  // pass, module, op
    // The stack of a block and its number among the blocks of this stack in one pass, and the same
    // for its module and operator.
    struct Source {
        size_t pass = 0;
        uint32_t context = 0;
        size_t number = 0;
        std::string_view module;
        std::string_view op;
        size_t number_of_op = 0;
    };

    size_t pass_of(uint64_t event) const;
    bool lives_in(const PassBlock& block, size_t pass) const;
    std::optional<PassBlock> block_at(const Source& source, uint64_t ordinal, size_t pass) const;
    void resolve(size_t pass) const;

    const RunFacts& run_;
    std::map<uint64_t, Source> sources_;  // by ordinal, of the inputs that the recording names
    std::map<uint64_t, PassBlock> named_;
    std::map<OfStack, std::vector<PassBlock>> blocks_;
    std::map<OfOperator, std::vector<PassBlock>> of_operators_;
    std::map<size_t, std::vector<PassBlock>> outside_;  // by pass
    // By pass, computed when it is first needed: the modules that get a block.
    mutable std::map<size_t, std::map<uint64_t, std::vector<const std::string*>>> readers_;
    std::map<std::string, std::vector<uint64_t>> inputs_;  // ordinals by path
};

}  // namespace peakline::report
