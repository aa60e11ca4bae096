// Which choices keep a peak under a budget, and at which cost: plain numbers, without a recording.
//
// Note [Rows of a plan]
// A choice is a layer that is checkpointed, or not. Every moment of a run has a level that is
// linear in the choices: the recorded level, plus the changes of the layers that are checkpointed.
// Only the highest level between two changes counts, so a run of a million events has a few rows
// for each layer. The peak of a set of choices is the largest of its rows. The bound of the search:
// for each row alone, the cheapest fractional way to bring it under the budget. Costs are integers,
// so a bound is rounded up to a multiple of their greatest common divisor. Without that, equal
// layers have so many equal sets that the search does not end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace peakline::report {

struct PlanRow {
    int64_t level = 0;            // with no choice taken
    std::vector<int64_t> change;  // by choice
    uint64_t event = 0;           // a moment with this level
};

struct PlanProblem {
    std::vector<PlanRow> rows;
    std::vector<uint64_t> costs;  // by choice
};

using Chosen = std::vector<bool>;  // by choice

struct PlanSolution {
    bool is_feasible = false;
    Chosen chosen;
    uint64_t cost = 0;
    uint64_t nodes = 0;       // of the search
    uint64_t bound_cost = 0;  // no set of this problem that fits costs less
    bool is_proved = false;   // the search ended: the set is the cheapest, or none fits
};

inline constexpr uint64_t kMostPlanNodes = 200'000;

// The row with the highest level; nullptr: there is no row.
const PlanRow* highest_row(const PlanProblem& problem, const Chosen& chosen);
int64_t peak_of(const PlanProblem& problem, const Chosen& chosen);
uint64_t cost_of(const PlanProblem& problem, const Chosen& chosen);

// The cheapest choices with a peak of at most `budget`. Choices with equal costs and effects are
// taken in their order.
PlanSolution cheapest_choices(const PlanProblem& problem,
                              int64_t budget,
                              uint64_t most_nodes = kMostPlanNodes);
// The lowest peak of sets that cost less than `cost`; UINT64_MAX: of all. To 4 KiB.
PlanSolution lowest_choices(const PlanProblem& problem, uint64_t cost);

}  // namespace peakline::report
