// Levels along a program: after every operator that allocates, and before and after every module,
// backward pass and step of the optimizer. Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/replay/call_replay.h"
#include "report/replay/call_rules.h"
#include "report/replay/phase_table.h"

namespace peakline::report {

struct OperatorPoint {
    const OperatorCall* call = nullptr;
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
    std::vector<OperatorPoint> points;
    std::vector<SeriesMarker> markers;
};

// What it points to must outlive it.
OperatorSeries build_operator_series(const CallResult& result,
                                     const CallRules& rules,
                                     const PhaseTable& phases);

// "h.0.mlp.forward.addmm.default_3": the third one after the first.
std::string point_name(const OperatorPoint& point, const CallRules& rules);

struct StageRow {
    std::string module;      // "optimizer" for its steps
    const char* stage = "";  // "pre forward", ..., "post step"
    std::optional<uint32_t> step;
    uint64_t event = 0;
    uint64_t tick = 0;
    uint32_t depth = 0;
    MemoryLevels levels;
};

// Where a CallRequest must look for build_stages: ascending.
std::vector<uint64_t> stage_moments(const PhaseTable& phases);
std::vector<StageRow> build_stages(const CallResult& result,
                                   const CallRules& rules,
                                   const PhaseTable& phases);

}  // namespace peakline::report
