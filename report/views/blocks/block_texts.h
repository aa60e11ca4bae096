// Texts of a single block: its name, its category, the lines that made and freed it. Equal blocks
// share texts, which are computed once. For the list of tensors, on a terminal and on a page.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "report/attribute/block_history.h"
#include "report/attribute/facets.h"
#include "report/attribute/grouping.h"

namespace peakline::report {

// The texts of one grouping.
class GroupingTexts {
public:
    // `by`: a key of --by. Both references must outlive this.
    GroupingTexts(const char* by, StackLookup& stacks, FacetHelp& help)
        : grouping_(find_grouping(by)), stacks_(stacks), help_(help) {}

    // Valid as long as this.
    const Label& of(const TrackedBlock& block, const BlockHistory& history);

private:
    const Grouping& grouping_;
    StackLookup& stacks_;
    FacetHelp& help_;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, Facet>, Label> labels_;
};

class BlockTexts {
public:
    // Both must outlive this.
    BlockTexts(StackLookup& stacks, const PhaseTable& phases)
        : histories_(phases, stacks.phase_rules()), help_{stacks, histories_} {}

    BlockHistory history_of(const TrackedBlock& block) const { return histories_.of(block); }
    // "gradient of fc1.weight"; empty: not reported.
    std::string name_of(const TrackedBlock& block, const BlockHistory& history) {
        return block.block.tensor != 0 ? tensor_.of(block, history).name : std::string();
    }
    // The line that freed it, or when it was freed if that is not recorded.
    const Label& freed_by(const TrackedBlock& block, const BlockHistory& history) {
        return freed_.of(block, history);
    }
    // The operator in which autograd saved it for a backward pass, or the line, as in a function of
    // the program; empty: it did not, or that is not recorded.
    const Label& saved_by(const TrackedBlock& block);
    FacetHelp& help() { return help_; }

private:
    BlockHistories histories_;
    FacetHelp help_;
    GroupingTexts tensor_{"tensor", help_.stacks, help_};
    GroupingTexts freed_{"freed-by", help_.stacks, help_};
    std::map<uint32_t, Label> savers_;  // by context
};

}  // namespace peakline::report
