// What the rules of `advise` share: the blocks of a run as they see them, and what they propose.
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

// What the keys of --by say about blocks of one origin.
struct BlockOrigin {
    Label line;
    std::string op;
    std::string module;
    std::string category;
};

// A block of the device in question, with its whole life.
struct RunBlock {
    uint64_t bytes = 0;  // in the measure asked for
    bool is_at_peak = false;
    uint32_t type = 0;  // of the tensor in it: id in Definitions; 0: not known
    const BlockGroup& block;
    const BlockFacts& facts;
    const BlockHistory& history;
    const BlockOrigin& origin;
};

// The run as a whole. What it refers to outlives the rules.
struct RunFacts {
    const PhaseTable& phases;
    const Definitions& definitions;
    LevelPeak peak;
    std::vector<const PhaseInterval*> outermost = {};  // phases that lie in no other, in order
    std::vector<const PhaseInterval*> passes = {};     // the forward ones among them
    std::map<uint64_t, Label> callers = {};  // of methods of optimizers, by the event that says so
    format::Measure measure = format::Measure::kAllocated;

    // nullptr: the event lies in none. The last of several.
    const PhaseInterval* outermost_at(uint64_t event) const;
    // The step that an event lies in, or the last one before it; nullptr: before the first.
    const PhaseInterval* step_at(uint64_t event) const;
    // The number of the last outermost forward pass that began by then, from 1; 0: before the
    // first.
    size_t pass_at(uint64_t event) const;
    // Where that pass ends, and all of its step that belongs to it.
    uint64_t end_of_pass(size_t pass) const { return passes[pass - 1]->end_event; }
    // How many steps began between the end of the block's own one and its free. What is freed
    // before a step has made anything outlived none of it. 0: in no step.
    size_t steps_outlived(const BlockFacts& facts) const;
    // The line that called the method of an optimizer whose interval this is; nullptr: not known.
    const Label* caller_of(const PhaseInterval& interval) const;
};

struct LineBytes {
    Label line = {};
    uint64_t bytes_at_peak = 0;
};

// A change of the program. The replay without the blocks says what it saves; where a rule knows
// bounds only, it names two altered runs, and a figure is given where both agree.
struct Proposal {
    const char* rule = "";                          // the cause: a name of causes.cpp
    std::string title;                              // what is wrong, in one line
    std::string change;                             // what to do about it; empty: nothing is known
    std::string evidence;                           // what of the recording shows it, in a sentence
    Label line;                                     // where; empty: nowhere in particular
    std::map<std::string, LineBytes> covered = {};  // what it explains, by line
    LevelChanges most;                              // as if all that can go were gone
    LevelChanges least;        // as if only this were gone; empty with is_exact
    bool knows_least = false;  // `least` was not empty
    bool is_exact = false;     // `most` is what the changed program does
    bool is_open = false;      // only a run can say what it saves
    uint64_t held_bytes = 0;   // by the blocks in question, at the peak
    std::string attempt;       // what `advise --try` can apply; empty: nothing
};

class AdviceRule {
public:
    virtual ~AdviceRule() = default;
    // Every block of the run, in the order they were made.
    virtual void see(const RunBlock& block) = 0;
    // After all of them.
    virtual void propose(std::vector<Proposal>* proposals) = 0;
};

// Of these bytes from one event to another, or to the end: kNeverFreed.
void remove_between(uint64_t begin, uint64_t end, uint64_t bytes, LevelChanges* changes);
inline void remove_block(const RunBlock& block, LevelChanges* changes) {
    remove_between(block.facts.alloc_event, block.facts.free_event, block.bytes, changes);
}

// Some blocks: what they hold at the peak, and the line that holds most of it; where none is live
// then, the line that made most of them.
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

// aten::_to_copy and its kind: the same values in another dtype or layout.
bool is_copy(std::string_view op);

// Tells the casts of weights that autocast makes: half of a parameter of the same module. Autocast
// makes and keeps them with gradients on, whatever the program says.
class WeightCopies {
public:
    // Every block of the run; parameters are made before their copies.
    void see(const RunBlock& block, const Definitions& definitions);
    bool is_one(const RunBlock& block) const;

private:
    std::map<std::string, std::set<uint64_t>> parameter_sizes_;  // by module; "": not known
};

// Blocks that are no part of what a training keeps by design: parameters, gradients, state of the
// optimizer, workspaces.
bool is_value_of_step(const std::string& category);

}  // namespace peakline::report
