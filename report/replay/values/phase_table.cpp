#include "phase_table.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace peakline::report {
namespace {

constexpr const char* kStepName = "step";

struct PhaseText {
    std::string name;
    std::optional<uint32_t> step;
};

// "backward@3"; a name of the program's own may contain anything.
PhaseText parse_phase(const std::string& text) {
    PhaseText parsed{text, std::nullopt};
    const size_t at = text.rfind('@');
    uint32_t step = 0;
    const char* const end = text.data() + text.size();
    if (at == std::string::npos || at + 1 == text.size()) {
        return parsed;
    }
    const auto number = std::from_chars(text.data() + at + 1, end, step);
    if (number.ec == std::errc() && number.ptr == end) {
        parsed = {text.substr(0, at), step};
    }
    return parsed;
}

void add_ranges(const std::vector<PhaseInterval>& intervals,
                const PhaseText& wanted,
                std::vector<EventRange>* ranges) {
    for (const PhaseInterval& interval : intervals) {
        const bool in_step = !wanted.step.has_value() || interval.step == wanted.step;
        if (interval.name == wanted.name && in_step) {
            ranges->push_back({interval.begin_event, interval.end_event});
        }
    }
}

// In order, apart from one another: phases of one name may nest and touch.
std::vector<EventRange> united(std::vector<EventRange> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const EventRange& a, const EventRange& b) {
        return a.begin < b.begin;
    });
    std::vector<EventRange> result;
    for (const EventRange& range : ranges) {
        if (range.begin >= range.end) {
            continue;
        }
        if (!result.empty() && range.begin <= result.back().end) {
            result.back().end = std::max(result.back().end, range.end);
        } else {
            result.push_back(range);
        }
    }
    return result;
}

}  // namespace

IntervalIndex::IntervalIndex(const std::vector<PhaseInterval>& intervals) : intervals_(intervals) {
    for (uint32_t i = 0; i < intervals.size(); ++i) {
        of_thread_[intervals[i].thread].push_back(i);
    }
}

uint32_t IntervalIndex::find(uint32_t thread, uint64_t event) const {
    const auto list = of_thread_.find(thread);
    if (list == of_thread_.end()) {
        return kNoInterval;
    }
    const auto after = std::upper_bound(
        list->second.begin(), list->second.end(), event, [this](uint64_t at, uint32_t interval) {
            return at < intervals_[interval].begin_event;
        });
    if (after == list->second.begin()) {
        return kNoInterval;
    }
    // Whatever else holds the event is around this one.
    uint32_t interval = *(after - 1);
    while (interval != kNoInterval && intervals_[interval].end_event <= event) {
        interval = intervals_[interval].parent;
    }
    return interval;
}

std::vector<EventRange> find_phase(const PhaseTable& table, const std::string& text) {
    std::vector<EventRange> ranges;
    for (const PhaseText& wanted : {PhaseText{text, std::nullopt}, parse_phase(text)}) {
        if (!ranges.empty()) {
            break;
        }
        add_ranges(table.phases, wanted, &ranges);
        add_ranges(table.named, wanted, &ranges);
        if (wanted.name == kStepName) {
            std::vector<PhaseInterval> steps = table.steps;
            for (PhaseInterval& step : steps) {
                step.name = kStepName;
            }
            add_ranges(steps, wanted, &ranges);
        }
    }
    return united(std::move(ranges));
}

}  // namespace peakline::report
