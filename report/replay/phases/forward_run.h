// A run of consecutive outermost forward and other intervals of a thread. A loss computed outside
// of every module is recognised as forward when the backward pass begins.
#pragma once

#include <cstdint>
#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// Joins two consecutive parts of one pass. finish() removes the second.
void join_forward(PhaseInterval& forward, PhaseInterval& part);

class ForwardRun {
public:
    // `interval`: an index of the phases below.
    void add(uint32_t interval) { intervals_.push_back(interval); }
    // Another interval separates the one before from the one after.
    void add_gap() { intervals_.push_back(kNoInterval); }
    void clear() { intervals_.clear(); }

    // Marks all of the run as forward, from its first forward interval or the known beginning of
    // the graph on. Passes before the graph (evaluation) stay as they are. Empties the run.
    // `has_graph`: nodes were made since the last backward pass.
    void make_forward(std::vector<PhaseInterval>& phases, bool has_graph);
    // The run ends without a backward pass: each of its forward passes is separate, and a graph
    // that it made was unused.
    void end(std::vector<PhaseInterval>& phases);
    // As end(), because memory ran out: with a graph it is one forward pass that died.
    void end_of_dead(std::vector<PhaseInterval>& phases, bool has_graph);

private:
    std::vector<uint32_t> intervals_;
};

}  // namespace peakline::report
