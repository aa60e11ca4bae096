// The cheapest changes of a program that bring its peak under a budget: which layers to checkpoint,
// after the changes that cost nothing. Everything is in requested bytes, which a change determines;
// blocks of the allocator are larger by the roundings of the recorded peak. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "choices.h"
#include "plan_text.h"
#include "report/trace/reader.h"
#include "report/views/advice/recorded_run.h"

namespace peakline::report {

// The unit of costs: FLOPs, else bytes that are made again, where shapes are unknown.
enum class PlanCost : unsigned char { kFlops, kBytes };

struct PlanPoint {
    std::vector<std::string> layers;
    uint64_t cost = 0;
    uint64_t peak_bytes = 0;
};

struct FreeChange {
    std::string title;
    std::string change;
    std::string attempt;  // for --change
};

// A change of the program beside checkpoints, with the cheapest layers that it still needs.
struct PlanEdit {
    std::string rule;  // a cause; several with + between
    std::string name;  // a few words
    std::string change;
    uint64_t peak_bytes = 0;              // with this edit and no layer: at most
    uint64_t least_bytes = 0;             // at least, where only limits are known
    std::optional<PlanPoint> found = {};  // nullopt: it does not fit, with any layers
};

struct PlanHolder {
    std::string category;
    uint64_t bytes = 0;
};

struct Plan {
    TraceHealth health;
    DeviceTotals device;
    std::string refusal;                     // why there is no plan; empty: there is one
    bool is_cut_off = false;                 // out of memory before its peak: baseline is a part
    uint64_t baseline_bytes = 0;             // requested
    uint64_t rounding_bytes = 0;             // blocks are so much larger at the recorded peak
    uint64_t budget_bytes = 0;               // for requested bytes
    std::vector<std::string> layers;         // all that were considered, in order
    std::vector<std::string> left_out = {};  // sentences: layers that were not, and why
    PlanCost cost_unit = PlanCost::kFlops;
    std::optional<uint64_t> step_cost;  // of a whole step
    bool is_step_measured = false;      // counted by torch
    bool is_composed = false;           // from two recorded steps
    bool fits_as_it_is = false;
    std::vector<FreeChange> free_changes;  // part of the plan
    bool is_feasible = false;
    PlanPoint found;  // the plan; if there is none, the set with the lowest peak
    PlanSolution proof;
    std::optional<PlanPoint> cheaper;  // of the sets that cost less, the one with the lowest peak
    std::vector<PlanPoint> frontier;   // by falling peak
    std::vector<PlanEdit> edits;       // other ways, each instead of a part of the layers
    std::vector<PlanHolder> rest;      // at the peak that is left
};

Plan build_plan(const TraceReader& reader,
                const Selection& selection,
                const PlanText& text,
                StackLookup& stacks,
                const Progress& progress);

}  // namespace peakline::report
