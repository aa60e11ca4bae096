// Levels along a program: after every operator that allocates. Pure aggregation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "event_phases.h"
#include "report/replay/calls/call_result.h"
#include "report/replay/calls/call_rules.h"
#include "report/replay/phases/find_ranges.h"

namespace peakline::report {

struct OperatorPoint {
    OperatorCall call;
    uint64_t index = 0;   // among all points of the run
    uint64_t number = 0;  // among the calls of its operator
    Phase phase = Phase::kNone;
    std::optional<uint32_t> step;
    int64_t delta_bytes = 0;  // allocated, compared with the previous point
};

// A boundary between two operators: the beginning or end of a phase.
struct SeriesMarker {
    std::string name;  // "fw_start", "fw_bw_boundary", "bw_end", ...
    std::optional<uint32_t> step;
    uint64_t index = 0;  // number of operators before it
};

struct OperatorSeries {
    uint64_t point_count = 0;           // in the requested part
    std::vector<OperatorPoint> points;  // the kept ones
    std::vector<SeriesMarker> markers;
};

enum class KeptPoints {
    kFirst,    // in order
    kLargest,  // the largest increases, largest first
};

// Keeps `top` points (0: all) of any number of calls.
class OperatorSeriesBuilder {
public:
    // Keeps the calls that begin in `window`. The arguments must outlive this.
    OperatorSeriesBuilder(const CallRules& rules,
                          const PhaseTable& phases,
                          KeptPoints kept,
                          uint64_t top,
                          EventWindow window = EventWindow({}));
    // Call it in the order of the calls' beginnings.
    void add(const OperatorCall& call);
    OperatorSeries take();

private:
    void find_markers(const PhaseTable& phases);
    void keep(const OperatorPoint& point);

    EventPhases event_phases_;
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
