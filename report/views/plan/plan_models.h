// The models that give the peak of a set of layers: by the rows of one recording, and with `--try`
// also by the segments of two (Note [Two recorded steps]). Decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "choices.h"
#include "other_changes.h"
#include "plan_blocks.h"
#include "report/trace/reader.h"

namespace peakline::report {

// The two models with some of the other changes. Both are careful, so a set that fits in one of
// them will do.
struct PlanModels {
    PlanProblem bound;
    std::optional<PlanProblem> composed;

    // The better one for this set.
    const PlanProblem& of(const Chosen& chosen) const;
    int64_t peak(const Chosen& chosen) const { return peak_of(of(chosen), chosen); }
    PlanSolution cheapest(int64_t budget) const;
    // The lowest peak of sets that cost less than `cost`.
    PlanSolution lowest(uint64_t cost) const;
};

// Makes them from one recording or two. Its arguments must outlive it.
class ModelMaker {
public:
    // `all`: the recording with all layers checkpointed; nullptr: none. `costs`: by candidate.
    ModelMaker(const TraceReader& reader,
               const WithOthers& none,
               const WithOthers* all,
               const std::vector<Candidate>& candidates,
               std::vector<uint64_t> costs,
               const Progress& progress);

    // `taken`: by other change of `none`.
    PlanModels with(const std::vector<bool>& taken) const;

private:
    std::vector<LevelChanges> changes() const;
    PlanProblem bound_of(const std::vector<bool>& taken) const;
    std::optional<PlanProblem> composed_of(const std::vector<bool>& taken) const;
    std::vector<std::vector<int64_t>> own_inputs() const;
    bool is_bound() const;
    void add_other_moments(const PlanProblem& bound, PlanProblem* composed) const;

    const WithOthers& none_;
    const WithOthers* all_;
    const std::vector<Candidate>& candidates_;
    std::vector<uint64_t> costs_;
    std::vector<PlanRow> rows_;  // with a column for each other change, then for each candidate
};

}  // namespace peakline::report
