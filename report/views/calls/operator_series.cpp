#include "operator_series.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

// The names that torch's own memory tracker uses, if it has one.
struct MarkerNames {
    Phase phase;
    const char* begin;
    const char* end;
};
constexpr MarkerNames kMarkers[] = {{Phase::kForward, "fw_start", "fw_bw_boundary"},
                                    {Phase::kBackward, "bw_start", "bw_end"},
                                    {Phase::kOptimizer, "opt_start", "opt_end"},
                                    {Phase::kZeroGrad, "zero_grad_start", "zero_grad_end"}};

bool adds_more(const OperatorPoint& a, const OperatorPoint& b) {
    return a.delta_bytes != b.delta_bytes ? a.delta_bytes > b.delta_bytes : a.index < b.index;
}

}  // namespace

std::string point_name(const OperatorPoint& point, const CallRules& rules) {
    const uint32_t layer = point.call.layer;
    std::string name = layer != kNoLayer ? rules.layers[layer] + "." : std::string();
    name += phase_name(point.phase);
    name += "." + rules.operations[point.call.operation] + "_";
    return name + std::to_string(point.number);
}

OperatorSeriesBuilder::OperatorSeriesBuilder(const CallRules& rules,
                                             const PhaseTable& phases,
                                             KeptPoints kept,
                                             uint64_t top,
                                             EventWindow window)
    : event_phases_(phases),
      kept_(kept),
      most_kept_(top == 0 ? SIZE_MAX : top),
      window_(std::move(window)),
      seen_(rules.operations.size()) {
    find_markers(phases);
}

void OperatorSeriesBuilder::find_markers(const PhaseTable& phases) {
    const auto add = [this](const char* name, std::optional<uint32_t> step, uint64_t event) {
        markers_by_event_.emplace_back(event, series_.markers.size());
        series_.markers.push_back({name, step, 0});
    };
    for (const PhaseInterval& interval : phases.phases) {
        for (const MarkerNames& names : kMarkers) {
            if (is_main(phases, interval) && interval.phase == names.phase) {
                add(names.begin, interval.step, interval.begin_event);
                add(names.end, interval.step, interval.end_event);
            }
        }
    }
    std::sort(markers_by_event_.begin(), markers_by_event_.end());
}

void OperatorSeriesBuilder::add(const OperatorCall& call) {
    while (next_marker_ < markers_by_event_.size() &&
           markers_by_event_[next_marker_].first <= call.begin_event) {
        series_.markers[markers_by_event_[next_marker_++].second].index = next_index_;
    }
    const bool is_kept = window_.overlaps(call.begin_event, call.begin_event + 1);
    const OperatorPoint point = {call,
                                 next_index_++,
                                 seen_[call.operation]++,
                                 event_phases_.phase(call.phase, call.begin_event),
                                 event_phases_.step(call.begin_event),
                                 static_cast<int64_t>(call.after.allocated_bytes - level_bytes_)};
    if (is_kept) {
        ++series_.point_count;
        keep(point);
    }
    level_bytes_ = call.after.allocated_bytes;
}

// The largest points form a heap with the smallest of them on top.
void OperatorSeriesBuilder::keep(const OperatorPoint& point) {
    std::vector<OperatorPoint>& points = series_.points;
    if (kept_ == KeptPoints::kFirst) {
        if (points.size() < most_kept_) {
            points.push_back(point);
        }
        return;
    }
    if (point.delta_bytes <= 0) {
        return;
    }
    if (points.size() == most_kept_) {
        if (!adds_more(point, points.front())) {
            return;
        }
        std::pop_heap(points.begin(), points.end(), adds_more);
        points.pop_back();
    }
    points.push_back(point);
    std::push_heap(points.begin(), points.end(), adds_more);
}

OperatorSeries OperatorSeriesBuilder::take() {
    for (; next_marker_ < markers_by_event_.size(); ++next_marker_) {
        series_.markers[markers_by_event_[next_marker_].second].index = next_index_;
    }
    if (kept_ == KeptPoints::kLargest) {
        std::sort_heap(series_.points.begin(), series_.points.end(), adds_more);
    }
    return std::move(series_);
}

}  // namespace peakline::report
