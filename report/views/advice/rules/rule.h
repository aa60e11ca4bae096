// Shared parts of the rules of `advise`: the blocks of a run as rules see them, and their
// proposals.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/attribute/block_history.h"
#include "report/attribute/names/label.h"
#include "report/replay/totals/altered_levels.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// The values of the --by keys for blocks of one origin.
struct BlockOrigin {
    Label line;
    std::string op;
    std::string module;
    std::string category;
};

// A block of the device in question, with its whole life.
struct RunBlock {
    uint64_t bytes = 0;  // in the requested measure
    bool is_at_peak = false;
    uint32_t type = 0;  // type of its tensor: id in Definitions; 0: unknown
    uint64_t ordinal = 0;
    const BlockGroup& block;
    const BlockFacts& facts;
    const BlockHistory& history;
    const BlockOrigin& origin;
    bool is_weight_copy = false;  // a cast of a weight by autocast: see WeightCopies
};

// The run as a whole. The referenced objects outlive the rules.
struct RunFacts {
    const PhaseTable& phases;
    const Definitions& definitions;
    LevelPeak peak;
    std::vector<const PhaseInterval*> outermost = {};  // phases inside no other, in order
    std::vector<const PhaseInterval*> passes = {};     // the forward ones among them
    // lines that called methods of optimizers, by the event of the call
    std::map<uint64_t, Label> callers = {};
    format::Measure measure = format::Measure::kAllocated;

    // The last outermost phase with this event; nullptr: none.
    const PhaseInterval* outermost_at(uint64_t event) const;
    // The step of an event, or the last one before it; nullptr: before the first.
    const PhaseInterval* step_at(uint64_t event) const;
    // The number of the last outermost forward pass that began by then, from 1; 0: before the
    // first.
    size_t pass_at(uint64_t event) const;
    // The end of that pass, including the part of its step that belongs to it.
    uint64_t end_of_pass(size_t pass) const { return passes[pass - 1]->end_event; }
    // The number of steps that began between the end of the block's own step and its free. A block
    // freed before a step has allocated does not outlive that step. 0: in no step.
    size_t steps_outlived(const BlockFacts& facts) const;
    // The line that called the optimizer method of this interval; nullptr: unknown.
    const Label* caller_of(const PhaseInterval& interval) const;
};

struct LineBytes {
    Label line = {};
    uint64_t bytes_at_peak = 0;
};

// A proposed change of the program. The replay without the blocks gives the savings. If a rule
// knows only limits, it gives two altered runs, and a figure is shown if both agree.
struct Proposal {
    const char* rule = "";  // the cause: a name of causes.cpp
    std::string title;      // the fault, in one line
    std::string change;     // the advice; empty: none is known
    // the part of the recording that shows it, in a sentence
    std::string evidence;
    Label line;                                     // its line; empty: no particular one
    std::map<std::string, LineBytes> covered = {};  // the bytes it explains, by line
    // the effect if every block that can go were gone
    LevelChanges most;
    LevelChanges least;        // the effect if only this were gone; empty with is_exact
    bool knows_least = false;  // `least` was not empty
    bool is_exact = false;     // `most` is the effect of the changed program
    bool is_open = false;      // only a run can show the savings
    uint64_t held_bytes = 0;   // bytes of the blocks in question at the peak
    std::string attempt;       // the change for `advise --try`; empty: none
};

class AdviceRule {
public:
    virtual ~AdviceRule() = default;
    // Called with every block of the run, in the order they were made.
    virtual void see(const RunBlock& block) = 0;
    // Called after all blocks.
    virtual void propose(std::vector<Proposal>* proposals) = 0;
};

// Removes these bytes from one event to another, or to the end: kNeverFreed.
void remove_between(uint64_t begin, uint64_t end, uint64_t bytes, LevelChanges* changes);
inline void remove_block(const RunBlock& block, LevelChanges* changes) {
    remove_between(block.facts.alloc_event, block.facts.free_event, block.bytes, changes);
}

// Sums over some blocks: their bytes at the peak, and the line that holds most of them; if none is
// live then, the line that made most of them.
class BlockSums {
public:
    void add(const RunBlock& block);
    void add(const BlockSums& other);
    uint64_t held_bytes() const { return held_bytes_; }
    // Fills the fields of a proposal.
    void describe(Proposal* proposal) const;

private:
    struct Sums {
        uint64_t bytes_at_peak = 0;
        uint64_t bytes = 0;
        Label line = {};
    };
    std::map<std::string, Sums> lines_;
    uint64_t held_bytes_ = 0;
};

// aten::_to_copy and similar operators: the same values in another dtype or layout.
bool is_copy(std::string_view op);

// Detects the casts of weights that autocast makes: half of a parameter of the same module.
// Autocast makes and keeps them with gradients on, even if the program turns them off.
class WeightCopies {
public:
    // Call it with every block of the run; parameters are made before their copies.
    void see(const RunBlock& block, const Definitions& definitions);
    bool is_one(const RunBlock& block) const;

private:
    std::map<std::string, std::set<uint64_t>> parameter_sizes_;  // by module; "": unknown
};

// False for blocks that a training keeps by design: parameters, gradients, state of the optimizer,
// workspaces.
bool is_value_of_step(const std::string& category);

}  // namespace peakline::report
