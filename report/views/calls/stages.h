// Levels along a program: before and after every module, backward pass and step of the optimizer.
// Pure aggregation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event_phases.h"
#include "report/replay/calls/call_replay.h"
#include "report/replay/calls/call_rules.h"
#include "report/replay/phases/find_ranges.h"

namespace peakline::report {

struct StageRow {
    std::string module;      // "optimizer" for its steps
    const char* stage = "";  // "pre forward", ..., "post step"
    std::optional<uint32_t> step;
    uint64_t event = 0;
    uint64_t tick = 0;
    uint32_t depth = 0;
    MemoryLevels levels;
};

struct Stages {
    uint64_t row_count = 0;
    std::vector<StageRow> rows;  // of the requested steps, and of the time before and between them
};

// The moments that a CallRequest needs for stages: ascending.
std::vector<uint64_t> stage_moments(const PhaseTable& phases);

class StagesBuilder {
public:
    // Keeps the rows in `window` that begin in the first `step_count` steps or before (0: all
    // rows). The arguments must outlive this.
    StagesBuilder(const CallRules& rules,
                  const PhaseTable& phases,
                  uint64_t step_count,
                  EventWindow window = EventWindow({}));
    // May be called in any order.
    void add(const LayerCall& call);
    // `moments`: the levels at stage_moments().
    Stages take(const std::vector<MomentLevels>& moments);

private:
    struct OrderedRow;

    bool is_asked_for(uint64_t begin_event) const {
        return window_.overlaps(begin_event, begin_event + 1);
    }
    bool is_kept(uint64_t begin_event) const {
        return begin_event < end_event_ && is_asked_for(begin_event);
    }
    void add_phases(const std::vector<MomentLevels>& moments, std::vector<OrderedRow>* rows);
    void add_layers(std::vector<OrderedRow>* rows) const;

    const CallRules& rules_;
    const PhaseTable& phases_;
    EventPhases event_phases_;
    uint64_t end_event_;  // the beginning of the first step that is not kept
    EventWindow window_;
    std::vector<LayerCall> calls_;
    Stages stages_;
};

}  // namespace peakline::report
