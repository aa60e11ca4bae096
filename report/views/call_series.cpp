#include "call_series.h"

#include <algorithm>
#include <tuple>

namespace peakline::report {
namespace {

// The names of torch's own memory tracker where it has one.
struct MarkerNames {
    Phase phase;
    const char* begin;
    const char* end;
};
constexpr MarkerNames kMarkers[] = {{Phase::kForward, "fw_start", "fw_bw_boundary"},
                                    {Phase::kBackward, "bw_start", "bw_end"},
                                    {Phase::kOptimizer, "opt_start", "opt_end"},
                                    {Phase::kZeroGrad, "zero_grad_start", "zero_grad_end"}};

bool is_main(const PhaseTable& table, const PhaseInterval& interval) {
    return interval.depth == 0 && interval.thread == table.main_thread;
}

// Looks up what an event lies in.
class Places {
public:
    explicit Places(const PhaseTable& table)
        : table_(table), phases_(table.phases), steps_(table.steps) {}

    std::optional<uint32_t> step(uint64_t event) const {
        const uint32_t step = steps_.find(table_.main_thread, event);
        return step != kNoInterval ? std::optional(step) : std::nullopt;
    }
    // What the stack says; where that is nothing, what the program was doing.
    Phase phase(Phase said, uint64_t event) const {
        if (said != Phase::kOther && said != Phase::kNone) {
            return said;
        }
        const uint32_t interval = phases_.find(table_.main_thread, event);
        return interval != kNoInterval ? table_.phases[interval].phase : said;
    }

private:
    const PhaseTable& table_;
    IntervalIndex phases_;
    IntervalIndex steps_;
};

std::vector<SeriesMarker> markers_of(const PhaseTable& phases,
                                     const std::vector<OperatorPoint>& points) {
    std::vector<SeriesMarker> markers;
    const auto index_of = [&points](uint64_t event) {
        const auto after = std::lower_bound(
            points.begin(), points.end(), event, [](const OperatorPoint& point, uint64_t at) {
                return point.call->begin_event < at;
            });
        return static_cast<uint64_t>(after - points.begin());
    };
    for (const PhaseInterval& interval : phases.phases) {
        for (const MarkerNames& names : kMarkers) {
            if (is_main(phases, interval) && interval.phase == names.phase) {
                markers.push_back({names.begin, interval.step, index_of(interval.begin_event)});
                markers.push_back({names.end, interval.step, index_of(interval.end_event)});
            }
        }
    }
    return markers;
}

}  // namespace

std::string point_name(const OperatorPoint& point, const CallRules& rules) {
    const uint32_t layer = point.call->layer;
    std::string name = layer != kNoLayer ? rules.layers[layer] + "." : std::string();
    name += phase_name(point.phase);
    name += "." + rules.operations[point.call->operation] + "_";
    return name + std::to_string(point.number);
}

OperatorSeries build_operator_series(const CallResult& result,
                                     const CallRules& rules,
                                     const PhaseTable& phases) {
    OperatorSeries series;
    const Places places(phases);
    std::vector<uint64_t> seen(rules.operations.size());
    uint64_t before = 0;
    series.points.reserve(result.operators.size());
    for (const OperatorCall& call : result.operators) {
        OperatorPoint& point = series.points.emplace_back();
        point.call = &call;
        point.number = seen[call.operation]++;
        point.phase = places.phase(call.phase, call.begin_event);
        point.step = places.step(call.begin_event);
        point.delta_bytes = static_cast<int64_t>(call.after.allocated_bytes - before);
        before = call.after.allocated_bytes;
    }
    series.markers = markers_of(phases, series.points);
    return series;
}

// ---- stages -------------------------------------------------------------------------------------

namespace {

struct StageNames {
    const char* pre;
    const char* post;
};
constexpr StageNames kForwardStages = {"pre forward", "post forward"};
constexpr StageNames kBackwardStages = {"pre backward", "post backward"};
constexpr StageNames kStepStages = {"pre step", "post step"};

// The model whose backward pass it is: the outermost module of the calls within.
class BackwardModels {
public:
    BackwardModels(const CallResult& result, const CallRules& rules)
        : calls_(result.layer_calls), rules_(rules) {}

    // Intervals must come in order.
    std::string name(const PhaseInterval& interval) {
        while (next_ < calls_.size() && calls_[next_].begin_event < interval.begin_event) {
            ++next_;
        }
        for (size_t i = next_; i < calls_.size() && calls_[i].begin_event < interval.end_event;
             ++i) {
            if (calls_[i].depth == 0) {
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

const MomentLevels& moment_at(const CallResult& result, uint64_t event) {
    static const MomentLevels none;
    const auto found = std::lower_bound(
        result.moments.begin(),
        result.moments.end(),
        event,
        [](const MomentLevels& moment, uint64_t wanted) { return moment.event < wanted; });
    return found != result.moments.end() && found->event == event ? *found : none;
}

// Rows in the order of the program; at one event ends come before begins, inner ends before outer
// ones and outer begins before inner ones.
struct OrderedRow {
    StageRow row;
    bool is_begin;
    uint32_t nesting;  // 0: a phase, around all modules

    std::tuple<uint64_t, bool, uint32_t> order() const {
        return {row.event, is_begin, is_begin ? nesting : UINT32_MAX - nesting};
    }
};

void add_phases(const CallResult& result,
                const CallRules& rules,
                const PhaseTable& phases,
                std::vector<OrderedRow>* rows) {
    BackwardModels models(result, rules);
    for (const PhaseInterval& interval : phases.phases) {
        if (!is_stage(phases, interval)) {
            continue;
        }
        const bool is_backward = interval.phase == Phase::kBackward;
        const StageNames names = is_backward ? kBackwardStages : kStepStages;
        const std::string module = is_backward ? models.name(interval) : "optimizer";
        const auto add = [&](const char* stage, uint64_t event, uint64_t tick, bool is_begin) {
            const MemoryLevels& levels = moment_at(result, event).levels;
            rows->push_back({{module, stage, interval.step, event, tick, 0, levels}, is_begin, 0});
        };
        add(names.pre, interval.begin_event, interval.begin_tick, true);
        add(names.post, interval.end_event, interval.end_tick, false);
    }
}

void add_layers(const CallResult& result,
                const CallRules& rules,
                const Places& places,
                std::vector<OrderedRow>* rows) {
    for (const LayerCall& call : result.layer_calls) {
        const bool is_backward = call.phase == Phase::kBackward;
        // The whole pass is there as a phase.
        if (is_backward && call.depth == 0) {
            continue;
        }
        const StageNames names = is_backward ? kBackwardStages : kForwardStages;
        const std::string& module = rules.layers[call.layer];
        const auto step = places.step(call.begin_event);
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

}  // namespace

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

std::vector<StageRow> build_stages(const CallResult& result,
                                   const CallRules& rules,
                                   const PhaseTable& phases) {
    std::vector<OrderedRow> ordered;
    add_phases(result, rules, phases, &ordered);
    add_layers(result, rules, Places(phases), &ordered);
    std::stable_sort(ordered.begin(), ordered.end(), [](const OrderedRow& a, const OrderedRow& b) {
        return a.order() < b.order();
    });
    std::vector<StageRow> rows;
    rows.reserve(ordered.size());
    for (OrderedRow& row : ordered) {
        rows.push_back(std::move(row.row));
    }
    return rows;
}

}  // namespace peakline::report
