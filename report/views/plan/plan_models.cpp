#include "plan_models.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include "rows.h"
#include "segments.h"

namespace peakline::report {
namespace {

std::vector<PlanRow> recorded_rows(const TraceReader& reader,
                                   const PlanRecording& recorded,
                                   const std::vector<LevelChanges>& changes,
                                   const Progress& progress) {
    LevelChanges always;
    for (const LayerFamily& family : recorded.blocks.families()) {
        keep_shared_inputs(family, &always);
    }
    BlockStream stream(reader);
    RowFollower rows(format::Measure::kRequested, recorded.run.device_number(), changes, always);
    stream.run(progress, rows);
    return rows.finish(stream.end());
}

}  // namespace

const PlanProblem& PlanModels::of(const Chosen& chosen) const {
    const bool is_better =
        composed.has_value() && peak_of(*composed, chosen) < peak_of(bound, chosen);
    return is_better ? *composed : bound;
}

PlanSolution PlanModels::cheapest(int64_t budget) const {
    PlanSolution best = cheapest_choices(bound, budget);
    if (!composed.has_value()) {
        return best;
    }
    const PlanSolution other = cheapest_choices(*composed, budget);
    const bool is_cheaper = other.is_feasible && (!best.is_feasible || other.cost < best.cost);
    const uint64_t nodes = best.nodes + other.nodes;
    const bool is_proved = best.is_proved && other.is_proved;
    best = is_cheaper ? other : best;
    best.nodes = nodes;
    best.is_proved = is_proved;
    return best;
}

PlanSolution PlanModels::lowest(uint64_t cost) const {
    PlanSolution best = lowest_choices(bound, cost);
    if (!composed.has_value()) {
        return best;
    }
    const PlanSolution other = lowest_choices(*composed, cost);
    const bool is_lower =
        other.is_feasible && (!best.is_feasible || peak(other.chosen) < peak(best.chosen));
    return is_lower ? other : best;
}

ModelMaker::ModelMaker(const TraceReader& reader,
                       const WithOthers& none,
                       const WithOthers* all,
                       const std::vector<Candidate>& candidates,
                       std::vector<uint64_t> costs,
                       const Progress& progress)
    : none_(none),
      all_(all),
      candidates_(candidates),
      costs_(std::move(costs)),
      rows_(recorded_rows(reader, none.recorded, changes(), progress)) {}

PlanModels ModelMaker::with(const std::vector<bool>& taken) const {
    PlanModels made{bound_of(taken), composed_of(taken)};
    if (made.composed.has_value()) {
        add_other_moments(made.bound, &*made.composed);
        if (!is_bound()) {
            made.bound = *made.composed;
        }
    }
    return made;
}

std::vector<LevelChanges> ModelMaker::changes() const {
    std::vector<LevelChanges> all;
    all.reserve(none_.others.size() + candidates_.size());
    for (const OtherChange& one : none_.others) {
        all.push_back(one.levels);
    }
    for (const Candidate& one : candidates_) {
        LevelChanges& changes = all.emplace_back();
        for (const LayerRun* const run : one.runs) {
            checkpoint_run(*run, &changes);
        }
    }
    return all;
}

// The rows with the other changes taken out: their columns are the first ones.
PlanProblem ModelMaker::bound_of(const std::vector<bool>& taken) const {
    PlanProblem problem;
    problem.costs = costs_;
    for (const PlanRow& row : rows_) {
        PlanRow one{row.level, {}, row.event};
        for (size_t i = 0; i < taken.size(); ++i) {
            one.level += taken[i] ? row.change[i] : 0;
        }
        one.change.assign(row.change.begin() + static_cast<std::ptrdiff_t>(taken.size()),
                          row.change.end());
        problem.rows.push_back(std::move(one));
    }
    return problem;
}

std::optional<PlanProblem> ModelMaker::composed_of(const std::vector<bool>& taken) const {
    if (all_ == nullptr) {
        return std::nullopt;
    }
    std::set<std::string> ids;
    for (size_t i = 0; i < taken.size(); ++i) {
        if (taken[i]) {
            ids.insert(none_.others[i].id);
        }
    }
    std::vector<std::string> layers;
    layers.reserve(candidates_.size());
    for (const Candidate& one : candidates_) {
        layers.push_back(one.layer);
    }
    const auto plain = none_.segments(layers, ids);
    const auto recomputed = all_->segments(layers, ids);
    if (!plain.has_value() || !recomputed.has_value()) {
        return std::nullopt;
    }
    return PlanProblem{composed_rows(*plain, *recomputed, own_inputs()), costs_};
}

// By candidate: bytes of the blocks that go into it alone, in its last run.
std::vector<std::vector<int64_t>> ModelMaker::own_inputs() const {
    std::vector<std::vector<int64_t>> all;
    for (const Candidate& one : candidates_) {
        std::vector<int64_t>& bytes = all.emplace_back();
        for (const PassBlock& input : one.runs.back()->inputs) {
            bytes.push_back(static_cast<int64_t>(input.bytes));
        }
    }
    return all;
}

// Whether the recording with all layers checkpointed agrees with the rows of the first one. It does
// not if layers read blocks that this one does not know.
bool ModelMaker::is_bound() const {
    const PlanProblem rows = bound_of(std::vector<bool>(none_.others.size()));
    const auto real = static_cast<int64_t>(all_->recorded.run.facts().peak.bytes);
    return peak_of(rows, Chosen(costs_.size(), true)) >= real;
}

// Peaks before the first pass and after the last step, which no layer changes.
void ModelMaker::add_other_moments(const PlanProblem& bound, PlanProblem* composed) const {
    const auto step = none_.recorded.last_step();
    if (!step.has_value()) {
        return;  // then there is no composed model
    }
    const uint64_t first = none_.recorded.run.facts().passes.front()->begin_event;
    for (const PlanRow& row : bound.rows) {
        const bool is_constant = std::all_of(
            row.change.begin(), row.change.end(), [](int64_t bytes) { return bytes == 0; });
        if (is_constant && (row.event < first || row.event >= step->end)) {
            composed->rows.push_back(row);
        }
    }
}

}  // namespace peakline::report
