// Levels along a program: after every operator that allocates. Pure aggregation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_places.h"
#include "report/replay/calls/call_result.h"
#include "report/replay/calls/call_rules.h"
#include "report/replay/phases/find_ranges.h"

namespace peakline::report {

struct OperatorPoint {
    OperatorCall call;
    uint64_t index = 0;   // of all points of the run
    uint64_t number = 0;  // of the calls of its operator
    Phase phase = Phase::kNone;
    std::optional<uint32_t> step;
    int64_t delta_bytes = 0;  // allocated, against the one before
};

// A place between two operators: where a phase begins or ends.
struct SeriesMarker {
    std::string name;  // "fw_start", "fw_bw_boundary", "bw_end", ...
    std::optional<uint32_t> step;
    uint64_t index = 0;  // operators before it
};

struct OperatorSeries {
    uint64_t point_count = 0;           // in the part asked for
    std::vector<OperatorPoint> points;  // those kept
    std::vector<SeriesMarker> markers;
};

enum class KeptPoints {
    kFirst,    // in order
    kLargest,  // those after which most was added, the largest first
};

// Keeps `top` points (0: all of them) of however many calls there are.
class OperatorSeriesBuilder {
public:
    // Keeps what begins in `window`. What it refers to must outlive it.
    OperatorSeriesBuilder(const CallRules& rules,
                          const PhaseTable& phases,
                          KeptPoints kept,
                          uint64_t top,
                          EventWindow window = EventWindow({}));
    // In the order of their begins.
    void add(const OperatorCall& call);
    OperatorSeries take();

private:
    void find_markers(const PhaseTable& phases);
    void keep(const OperatorPoint& point);

    EventPlaces places_;
    KeptPoints kept_;
    size_t most_kept_;
    EventWindow window_;
    OperatorSeries series_;
    std::vector<std::pair<uint64_t, size_t>> markers_by_event_;
    size_t next_marker_ = 0;
    std::vector<uint64_t> seen_;  // by operation
    uint64_t level_bytes_ = 0;
    uint64_t next_index_ = 0;
};

// "h.0.mlp.forward.addmm.default_3": the third one after the first.
std::string point_name(const OperatorPoint& point, const CallRules& rules);

}  // namespace peakline::report
