#include "plan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "other_changes.h"
#include "plan_blocks.h"
#include "plan_models.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/levels/refused_requests.h"
#include "report/views/refused/autopsy.h"

namespace peakline::report {
namespace {

constexpr uint64_t kMostFrontierPoints = 12;

std::optional<uint64_t> given_flops(const PlanText& text, const std::string& layer) {
    const std::string begin = layer + "=";
    for (const std::string& given : text.flops) {
        if (given.compare(0, begin.size(), begin) == 0) {
            return std::strtoull(given.c_str() + begin.size(), nullptr, 10);
        }
    }
    return std::nullopt;
}

// The last run of a layer counts: its first one may hold less.
std::vector<uint64_t> costs_of(const std::vector<Candidate>& candidates,
                               const PlanText& text,
                               const PlanBlocks& recorded,
                               Plan* plan) {
    std::vector<uint64_t> costs;
    for (const Candidate& one : candidates) {
        const auto given = given_flops(text, one.layer);
        const auto found = given.has_value() ? given : recorded.flops().of_run(*one.runs.back());
        if (!found.has_value() || *found == 0) {
            costs.clear();
            break;
        }
        costs.push_back(*found);
    }
    plan->step_cost = given_flops(text, "");
    plan->is_step_measured = plan->step_cost.has_value();
    if (!plan->is_step_measured) {
        plan->step_cost = recorded.pass_flops().of_step();
    }
    if (!costs.empty()) {
        return costs;
    }
    plan->cost_unit = PlanCost::kBytes;
    plan->step_cost.reset();
    for (const Candidate& one : candidates) {
        uint64_t bytes = 0;
        for (const LayerBlock& block : one.runs.back()->blocks) {
            bytes += block.bytes;
        }
        costs.push_back(std::max<uint64_t>(1, bytes));
    }
    return costs;
}

class Planner {
public:
    Planner(const TraceReader& reader,
            const WithOthers& none,
            const WithOthers* all,
            const PlanText& text,
            const Progress& progress,
            Plan* plan)
        : reader_(reader),
          recorded_(none.recorded),
          none_(none),
          all_(all),
          text_(text),
          progress_(progress),
          plan_(*plan),
          others_(none.others) {}

    void run() {
        candidates_ = candidates_of(recorded_, &plan_.left_out);
        for (const Candidate& one : candidates_) {
            plan_.layers.push_back(one.layer);
        }
        std::vector<uint64_t> costs = costs_of(candidates_, text_, recorded_.blocks, &plan_);
        if (candidates_.empty()) {
            plan_.refusal = "no layer may be checkpointed";
            return;
        }
        models_ = std::make_unique<ModelMaker>(
            reader_, none_, all_, candidates_, std::move(costs), progress_);
        if (text_.layers.empty()) {
            choose();
        } else {
            take_given();
        }
    }

private:
    PlanModels models(const std::vector<bool>& taken) {
        PlanModels made = models_->with(taken);
        plan_.is_composed = plan_.is_composed || made.composed.has_value();
        return made;
    }

    int64_t budget() const { return static_cast<int64_t>(plan_.budget_bytes); }

    PlanPoint point_of(const PlanModels& models, const Chosen& chosen) const {
        PlanPoint point;
        for (size_t i = 0; i < chosen.size(); ++i) {
            if (chosen[i]) {
                point.layers.push_back(plan_.layers[i]);
            }
        }
        point.cost = cost_of(models.bound, chosen);
        point.peak_bytes = static_cast<uint64_t>(std::max<int64_t>(0, models.peak(chosen)));
        return point;
    }

    // The given layers: a plan that nobody searched for.
    void take_given() {
        plan_.fits_as_it_is = false;  // the question is what they do
        for (const std::string& given : text_.layers) {
            if (std::find(plan_.layers.begin(), plan_.layers.end(), given) == plan_.layers.end()) {
                plan_.refusal = "no layer that it may checkpoint is called '" + given + "'";
                return;
            }
        }
        const PlanModels without = models(std::vector<bool>(others_.size(), false));
        for (const std::string& layer : plan_.layers) {
            plan_.proof.chosen.push_back(
                std::find(text_.layers.begin(), text_.layers.end(), layer) != text_.layers.end());
        }
        plan_.found = point_of(without, plan_.proof.chosen);
        plan_.is_feasible = plan_.found.peak_bytes <= plan_.budget_bytes;
        find_rest(without);
    }

    void choose() {
        std::vector<bool> free(others_.size());
        for (size_t i = 0; i < free.size(); ++i) {
            free[i] = !others_[i].is_edit && !plan_.fits_as_it_is;
        }
        const PlanModels whole = models(free);
        plan_.proof = whole.cheapest(budget());
        plan_.is_feasible = plan_.proof.is_feasible;
        if (!plan_.is_feasible) {
            plan_.proof.chosen = whole.lowest(std::numeric_limits<uint64_t>::max()).chosen;
        }
        drop_useless(&free);
        const PlanModels kept = models(free);
        plan_.found = point_of(kept, plan_.proof.chosen);
        for (size_t i = 0; i < free.size(); ++i) {
            if (free[i]) {
                plan_.free_changes.push_back(
                    {others_[i].title, others_[i].change, others_[i].attempt});
            }
        }
        if (plan_.is_feasible && plan_.proof.cost != 0) {
            const PlanSolution cheaper = kept.lowest(plan_.proof.cost);
            if (cheaper.is_feasible) {
                plan_.cheaper = point_of(kept, cheaper.chosen);
            }
        }
        draw_frontier(kept);
        find_rest(kept);
        if (!plan_.fits_as_it_is) {
            find_edits(free);
        }
    }

    // Each edit, and all of them that go together: state in 8 bits excludes state on the host.
    void find_edits(const std::vector<bool>& free) {
        std::vector<size_t> edits;
        for (size_t i = 0; i < others_.size(); ++i) {
            if (others_[i].is_edit && !others_[i].is_most) {
                edits.push_back(i);
                plan_.edits.push_back(edit_of(free, {i}));
            }
        }
        const bool has_8_bits = std::any_of(edits.begin(), edits.end(), [this](size_t i) {
            return others_[i].id == "optimizer_state_8bit";
        });
        std::erase_if(edits,
                      [&](size_t i) { return has_8_bits && others_[i].id == "optimizer_state"; });
        if (edits.size() > 1) {
            plan_.edits.push_back(edit_of(free, edits));
        }
    }

    PlanEdit edit_of(std::vector<bool> taken, const std::vector<size_t>& edits) {
        PlanEdit edit;
        std::vector<bool> most = taken;
        for (const size_t i : edits) {
            edit.rule += (edit.rule.empty() ? "" : "+") + others_[i].id;
            edit.name += (edit.name.empty() ? "" : ", ") + std::string(name_of_edit(others_[i].id));
            edit.change += (edit.change.empty() ? "" : "; and ") + others_[i].change;
            taken[i] = true;
            most[others_[i].most_slot] = true;
        }
        const PlanModels careful = models(taken);
        const Chosen none(plan_.layers.size(), false);
        edit.peak_bytes = static_cast<uint64_t>(std::max<int64_t>(0, careful.peak(none)));
        const int64_t least = models(most).peak(none);
        edit.least_bytes =
            std::min(edit.peak_bytes, static_cast<uint64_t>(std::max<int64_t>(0, least)));
        const PlanSolution solution = careful.cheapest(budget());
        if (solution.is_feasible) {
            edit.found = point_of(careful, solution.chosen);
        }
        return edit;
    }

    // A free change that the plan does not need is left out.
    void drop_useless(std::vector<bool>* free) {
        const Chosen& chosen = plan_.proof.chosen;
        const int64_t lowest = models(*free).peak(chosen);
        for (size_t i = 0; i < free->size(); ++i) {
            if ((*free)[i]) {
                (*free)[i] = false;
                const int64_t without = models(*free).peak(chosen);
                const bool is_useless = plan_.is_feasible ? without <= budget() : without <= lowest;
                (*free)[i] = !is_useless;
            }
        }
    }

    void draw_frontier(const PlanModels& kept) {
        const Chosen none(plan_.layers.size(), false);
        const Chosen all(plan_.layers.size(), true);
        const int64_t high = kept.peak(none);
        const int64_t low = std::min(kept.peak(all), static_cast<int64_t>(plan_.found.peak_bytes));
        plan_.frontier.push_back(point_of(kept, none));
        const int64_t step = (high - low) / static_cast<int64_t>(kMostFrontierPoints);
        for (uint64_t i = 1; i <= kMostFrontierPoints; ++i) {
            const bool is_last = i == kMostFrontierPoints;
            const int64_t at = is_last ? low : high - static_cast<int64_t>(i) * step;
            const PlanSolution found = kept.cheapest(at);
            if (found.is_feasible) {
                add_point(point_of(kept, found.chosen));
            }
        }
    }

    // Keeps points that cost more and save more than the one before.
    void add_point(PlanPoint point) {
        const PlanPoint& last = plan_.frontier.back();
        if (point.peak_bytes < last.peak_bytes && point.cost > last.cost) {
            plan_.frontier.push_back(std::move(point));
        }
    }

    void find_rest(const PlanModels& kept_models) {
        const PlanRow* const row =
            highest_row(kept_models.of(plan_.proof.chosen), plan_.proof.chosen);
        if (row == nullptr) {
            return;
        }
        uint64_t kept = 0;
        for (const auto& [category, bytes] : recorded_.blocks.categories_at(row->event)) {
            if (!is_value_of_step(category)) {
                kept += bytes;
                plan_.rest.push_back({category, bytes});
            }
        }
        const uint64_t peak = plan_.found.peak_bytes;
        if (peak > kept) {
            plan_.rest.push_back({"activations, inputs and temporary values", peak - kept});
        }
        std::stable_sort(
            plan_.rest.begin(), plan_.rest.end(), [](const PlanHolder& a, const PlanHolder& b) {
                return a.bytes > b.bytes;
            });
    }

    const TraceReader& reader_;
    const PlanRecording& recorded_;
    const WithOthers& none_;
    const WithOthers* all_;  // nullptr: one recording
    const PlanText& text_;
    const Progress& progress_;
    Plan& plan_;
    const std::vector<OtherChange>& others_;
    std::vector<Candidate> candidates_;
    std::unique_ptr<ModelMaker> models_;
};

}  // namespace

Plan build_plan(const TraceReader& reader,
                const Selection& selection,
                const PlanText& text,
                StackLookup& stacks,
                const Progress& progress) {
    Selection requested = selection;
    requested.request.measure = format::Measure::kRequested;
    PlanRecording recorded(reader, requested, stacks, progress);
    Plan plan;
    plan.health = recorded.run.health();
    plan.device = recorded.run.device();
    plan.is_cut_off = ended_the_program(reader, find_refused_requests(reader, progress));
    plan.refusal = plan.is_cut_off
                       ? "the recorded run ran out of memory, so its peak is not known; record it "
                         "on a device that holds it (run --simulate h200), or use plan --try"
                       : refusal_of(reader, recorded);
    plan.baseline_bytes = recorded.run.facts().peak.bytes;
    const uint64_t blocks =
        altered_peaks(
            reader, format::Measure::kAllocated, recorded.run.device_number(), {}, progress)
            .front()
            .bytes;
    plan.rounding_bytes = blocks - std::min(blocks, plan.baseline_bytes);
    plan.budget_bytes = text.budget_bytes - std::min(text.budget_bytes, plan.rounding_bytes);
    plan.fits_as_it_is = !plan.is_cut_off && plan.baseline_bytes <= plan.budget_bytes;
    if (!plan.refusal.empty()) {
        return plan;
    }
    const WithOthers none{recorded, other_changes(recorded.blocks)};
    if (text.recomputed.empty()) {
        Planner(reader, none, nullptr, text, progress, &plan).run();
        return plan;
    }
    const TraceReader other = TraceReader::open_file(text.recomputed);
    StackLookup other_stacks(other.definitions(), requested.frames);
    PlanRecording recomputed(other, requested, other_stacks, progress);
    const WithOthers all{recomputed, other_changes(recomputed.blocks)};
    Planner(reader, none, &all, text, progress, &plan).run();
    return plan;
}

}  // namespace peakline::report
