#include "phase_steps.h"

#include <algorithm>
#include <utility>

namespace peakline::report {
namespace {

bool is_forward(const PhaseInterval& interval) {
    return interval.phase == Phase::kForward;
}

// Each outermost forward pass of the main thread begins a step.
void add_forward_steps(PhaseTable* table) {
    for (const PhaseInterval& part : table->phases) {
        if (part.thread != table->main_thread || part.depth != 0) {
            continue;
        }
        if (is_forward(part)) {
            PhaseInterval& step = table->steps.emplace_back();
            step.begin_event = part.begin_event;
            step.begin_tick = part.begin_tick;
            step.uses = part.uses;
        } else if (!table->steps.empty()) {
            table->steps.back().uses.append(part.uses);
        }
        if (!table->steps.empty()) {
            table->steps.back().end_event = part.end_event;
            table->steps.back().end_tick = part.end_tick;
        }
    }
    if (!table->steps.empty()) {
        table->step_source = StepSource::kForward;
    }
}

void number(const std::vector<PhaseInterval>& steps,
            uint32_t first_step,
            std::vector<PhaseInterval>* intervals) {
    for (PhaseInterval& interval : *intervals) {
        const auto after = std::upper_bound(
            steps.begin(),
            steps.end(),
            interval.begin_event,
            [](uint64_t event, const PhaseInterval& step) { return event < step.begin_event; });
        if (after != steps.begin() && interval.begin_event < (after - 1)->end_event) {
            interval.step = first_step + static_cast<uint32_t>(after - steps.begin() - 1);
        }
    }
}

}  // namespace

std::vector<PhaseInterval> without_removed(std::vector<PhaseInterval> intervals) {
    std::vector<uint32_t> new_index(intervals.size(), kNoInterval);
    std::vector<PhaseInterval> kept;
    for (uint32_t i = 0; i < intervals.size(); ++i) {
        PhaseInterval& interval = intervals[i];
        if (interval.phase == Phase::kNone) {
            continue;
        }
        new_index[i] = static_cast<uint32_t>(kept.size());
        if (interval.parent != kNoInterval) {
            interval.parent = new_index[interval.parent];
        }
        kept.push_back(std::move(interval));
    }
    return kept;
}

void number_steps(PhaseTable* table) {
    if (table->step_source == StepSource::kNone) {
        add_forward_steps(table);
    }
    if (table->step_source == table->earlier_source) {
        // The first kept mark ends a step that began earlier.
        table->first_step =
            table->earlier_steps + (table->step_source == StepSource::kMarks ? 1 : 0);
    }
    for (uint32_t i = 0; i < table->steps.size(); ++i) {
        table->steps[i].step = table->first_step + i;
        table->steps[i].thread = table->main_thread;
    }
    number(table->steps, table->first_step, &table->phases);
    number(table->steps, table->first_step, &table->named);
}

}  // namespace peakline::report
