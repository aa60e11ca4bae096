#include "stages.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace peakline::report {
namespace {

struct StageNames {
    const char* pre;
    const char* post;
};
constexpr StageNames kForwardStages = {"pre forward", "post forward"};
constexpr StageNames kBackwardStages = {"pre backward", "post backward"};
constexpr StageNames kStepStages = {"pre step", "post step"};

// The model of a backward pass: the outermost module of the calls within it.
class BackwardModels {
public:
    // `calls` are in order.
    BackwardModels(const std::vector<LayerCall>& calls, const CallRules& rules)
        : calls_(calls), rules_(rules) {}

    // Call it with the intervals in order.
    std::string name(const PhaseInterval& interval) {
        while (next_ < calls_.size() && calls_[next_].begin_event < interval.begin_event) {
            ++next_;
        }
        for (size_t i = next_; i < calls_.size() && calls_[i].begin_event < interval.end_event;
             ++i) {
            if (calls_[i].depth == 0 && calls_[i].phase == Phase::kBackward) {
                return rules_.layers[calls_[i].layer];
            }
        }
        return "loss";
    }

private:
    const std::vector<LayerCall>& calls_;
    const CallRules& rules_;
    size_t next_ = 0;
};

bool is_stage(const PhaseTable& table, const PhaseInterval& interval) {
    return is_main(table, interval) &&
           (interval.phase == Phase::kBackward || interval.phase == Phase::kOptimizer);
}

// The whole pass is already listed as a phase.
bool is_whole_pass(const LayerCall& call) {
    return call.phase == Phase::kBackward && call.depth == 0;
}

const MomentLevels& moment_at(const std::vector<MomentLevels>& moments, uint64_t event) {
    static const MomentLevels none;
    const auto found = std::lower_bound(
        moments.begin(), moments.end(), event, [](const MomentLevels& moment, uint64_t wanted) {
            return moment.event < wanted;
        });
    return found != moments.end() && found->event == event ? *found : none;
}

uint64_t begin_of_step(const PhaseTable& phases, uint64_t step) {
    return step != 0 && step < phases.steps.size() ? phases.steps[step].begin_event : UINT64_MAX;
}

}  // namespace

// Rows in the order of the program. At one event ends come before beginnings, inner ends before
// outer ones and outer beginnings before inner ones.
struct StagesBuilder::OrderedRow {
    StageRow row;
    bool is_begin;
    uint32_t nesting;  // 0: a phase, around all modules

    std::tuple<uint64_t, bool, uint32_t> order() const {
        return {row.event, is_begin, is_begin ? nesting : UINT32_MAX - nesting};
    }
};

std::vector<uint64_t> stage_moments(const PhaseTable& phases) {
    std::vector<uint64_t> moments;
    for (const PhaseInterval& interval : phases.phases) {
        if (is_main(phases, interval)) {
            moments.push_back(interval.begin_event);
            moments.push_back(interval.end_event);
        }
    }
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    return moments;
}

StagesBuilder::StagesBuilder(const CallRules& rules,
                             const PhaseTable& phases,
                             uint64_t step_count,
                             EventWindow window)
    : rules_(rules),
      phases_(phases),
      event_phases_(phases),
      end_event_(begin_of_step(phases, step_count)),
      window_(std::move(window)) {}

void StagesBuilder::add(const LayerCall& call) {
    stages_.row_count += is_whole_pass(call) || !is_asked_for(call.begin_event) ? 0 : 2;
    if (is_kept(call.begin_event)) {
        calls_.push_back(call);
    }
}

Stages StagesBuilder::take(const std::vector<MomentLevels>& moments) {
    std::sort(calls_.begin(), calls_.end(), [](const LayerCall& a, const LayerCall& b) {
        return std::tie(a.begin_event, a.depth) < std::tie(b.begin_event, b.depth);
    });
    std::vector<OrderedRow> ordered;
    add_phases(moments, &ordered);
    add_layers(&ordered);
    std::stable_sort(ordered.begin(), ordered.end(), [](const OrderedRow& a, const OrderedRow& b) {
        return a.order() < b.order();
    });
    stages_.rows.reserve(ordered.size());
    for (OrderedRow& row : ordered) {
        stages_.rows.push_back(std::move(row.row));
    }
    return std::move(stages_);
}

void StagesBuilder::add_phases(const std::vector<MomentLevels>& moments,
                               std::vector<OrderedRow>* rows) {
    BackwardModels models(calls_, rules_);
    for (const PhaseInterval& interval : phases_.phases) {
        if (!is_stage(phases_, interval)) {
            continue;
        }
        stages_.row_count += is_asked_for(interval.begin_event) ? 2 : 0;
        if (!is_kept(interval.begin_event)) {
            continue;
        }
        const bool is_backward = interval.phase == Phase::kBackward;
        const StageNames names = is_backward ? kBackwardStages : kStepStages;
        const std::string module = is_backward ? models.name(interval) : "optimizer";
        const auto add = [&](const char* stage, uint64_t event, uint64_t tick, bool is_begin) {
            const MemoryLevels& levels = moment_at(moments, event).levels;
            rows->push_back({{module, stage, interval.step, event, tick, 0, levels}, is_begin, 0});
        };
        add(names.pre, interval.begin_event, interval.begin_tick, true);
        add(names.post, interval.end_event, interval.end_tick, false);
    }
}

void StagesBuilder::add_layers(std::vector<OrderedRow>* rows) const {
    for (const LayerCall& call : calls_) {
        if (is_whole_pass(call)) {
            continue;
        }
        const StageNames names = call.phase == Phase::kBackward ? kBackwardStages : kForwardStages;
        const std::string& module = rules_.layers[call.layer];
        const auto step = event_phases_.step(call.begin_event);
        rows->push_back(
            {{module, names.pre, step, call.begin_event, call.begin_tick, call.depth, call.before},
             true,
             call.depth + 1});
        rows->push_back(
            {{module, names.post, step, call.end_event, call.end_tick, call.depth, call.after},
             false,
             call.depth + 1});
    }
}

}  // namespace peakline::report
