#include "forward_run.h"

#include <algorithm>
#include <utility>

namespace peakline::report {

void join_forward(PhaseInterval& forward, PhaseInterval& part) {
    forward.end_event = part.end_event;
    forward.end_tick = part.end_tick;
    forward.last_alloc_event = part.last_alloc_event;
    forward.has_graph |= part.has_graph;
    forward.uses.append(part.uses);
    part.phase = Phase::kNone;
}

namespace {

EventRange range_of(const PhaseInterval& interval) {
    return {interval.begin_event, interval.end_event};
}

// Moves the parts into the joined phase and empties the list.
void keep_parts(std::vector<PhaseInterval>& phases,
                uint32_t joined,
                std::vector<EventRange>* parts) {
    if (joined != kNoInterval && parts->size() > 1) {
        phases[joined].parts = std::move(*parts);
    }
    parts->clear();
}

}  // namespace

void ForwardRun::make_forward(std::vector<PhaseInterval>& phases, bool has_graph) {
    while (!intervals_.empty() && intervals_.back() == kNoInterval) {
        intervals_.pop_back();
    }
    const auto first_of = [&](auto predicate) {
        return std::find_if(intervals_.begin(), intervals_.end(), [&](uint32_t interval) {
            return interval != kNoInterval && predicate(phases[interval]);
        });
    };
    auto next = first_of([](const PhaseInterval& part) { return part.has_graph; });
    if (next == intervals_.end()) {
        next = first_of([](const PhaseInterval& part) { return part.phase == Phase::kForward; });
    }
    if (next == intervals_.end() && !intervals_.empty()) {
        next = intervals_.end() - 1;
    }
    uint32_t first = kNoInterval;
    std::vector<EventRange> parts;
    for (; next != intervals_.end(); ++next) {
        if (first != kNoInterval && *next != kNoInterval) {
            if (phases[*next].phase == Phase::kForward) {
                parts.push_back(range_of(phases[*next]));
            }
            join_forward(phases[first], phases[*next]);
            continue;
        }
        keep_parts(phases, first, &parts);
        first = *next;
        if (first != kNoInterval) {
            if (phases[first].phase == Phase::kForward) {
                parts.push_back(range_of(phases[first]));
            }
            phases[first].phase = Phase::kForward;
            phases[first].name = phase_name(Phase::kForward);
            phases[first].has_graph |= has_graph;
        }
    }
    keep_parts(phases, first, &parts);
    intervals_.clear();
}

void ForwardRun::end(std::vector<PhaseInterval>& phases) {
    for (const uint32_t interval : intervals_) {
        if (interval != kNoInterval && phases[interval].phase == Phase::kForward) {
            phases[interval].is_cut = phases[interval].has_graph;
        }
    }
    intervals_.clear();
}

void ForwardRun::end_of_dead(std::vector<PhaseInterval>& phases, bool has_graph) {
    const bool has_part_with_graph =
        std::any_of(intervals_.begin(), intervals_.end(), [&](uint32_t interval) {
            return interval != kNoInterval && phases[interval].has_graph;
        });
    if (has_part_with_graph) {
        const std::vector<uint32_t> ended = intervals_;
        make_forward(phases, has_graph);
        for (const uint32_t interval : ended) {
            if (interval != kNoInterval) {
                phases[interval].has_died = true;
                phases[interval].is_cut = phases[interval].has_graph;
            }
        }
    }
    intervals_.clear();
}

}  // namespace peakline::report
