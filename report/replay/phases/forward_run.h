// Forward and other intervals of a thread closed one after another, part of no other: a loss that
// is computed outside of every module turns out to be forward when the backward pass begins.
#pragma once

#include <cstdint>
#include <vector>

#include "report/replay/values/phase_table.h"

namespace peakline::report {

// Two parts of one pass, one after the other. The second is removed by finish().
void join_forward(PhaseInterval& forward, PhaseInterval& part);

class ForwardRun {
public:
    // An index of the phases below.
    void add(uint32_t interval) { intervals_.push_back(interval); }
    // Something else lies between the intervals before and after it.
    void add_gap() { intervals_.push_back(kNoInterval); }
    void clear() { intervals_.clear(); }

    // From the first forward of the run on, or where the graph is known to begin, all of it is
    // forward. Passes before the graph (evaluation) stay as they are. Empties the run. `has_graph`:
    // nodes were made since the last backward pass.
    void make_forward(std::vector<PhaseInterval>& phases, bool has_graph);
    // The run ends without a backward pass: each of its forward passes stands alone, and its graph,
    // if it has one, was for nothing.
    void end(std::vector<PhaseInterval>& phases);
    // The same, since memory ran out: with a graph it is one forward pass that died.
    void end_of_dead(std::vector<PhaseInterval>& phases, bool has_graph);

private:
    std::vector<uint32_t> intervals_;
};

}  // namespace peakline::report
