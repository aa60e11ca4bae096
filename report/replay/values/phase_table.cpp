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

// Parses "backward@3". A name that the program gave may contain anything.
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

// Returns sorted, disjoint ranges: phases of one name may nest and touch.
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

namespace {

// Climbs from an interval to its open parent, past intervals that have ended. They stay ended, so
// each is climbed once: the path of each is shortened to the last result.
class OpenAround {
public:
    explicit OpenAround(const std::vector<PhaseInterval>& intervals)
        : intervals_(intervals), up_(intervals.size()) {
        for (uint32_t i = 0; i < intervals.size(); ++i) {
            up_[i] = intervals[i].parent;
        }
    }

    // Events must not fall from call to call.
    uint32_t find(uint32_t interval, uint64_t event) {
        uint32_t open = interval;
        while (has_ended(open, event)) {
            open = up_[open];
        }
        while (has_ended(interval, event)) {
            interval = std::exchange(up_[interval], open);
        }
        return open;
    }

private:
    bool has_ended(uint32_t interval, uint64_t event) const {
        return interval != kNoInterval && intervals_[interval].end_event <= event;
    }

    const std::vector<PhaseInterval>& intervals_;
    std::vector<uint32_t> up_;
};

}  // namespace

IntervalIndex::IntervalIndex(const std::vector<PhaseInterval>& intervals) {
    // Each beginning and end of an interval is a change; the interval after it is filled in below.
    for (uint32_t i = 0; i < intervals.size(); ++i) {
        std::vector<Change>& changes = of_thread_[intervals[i].thread];
        changes.push_back({intervals[i].begin_event, i});
        changes.push_back({intervals[i].end_event, kNoInterval});
    }
    OpenAround around(intervals);
    for (auto& [thread, changes] : of_thread_) {
        std::ranges::stable_sort(changes, {}, &Change::event);
        uint32_t last = kNoInterval;
        for (size_t i = 0; i < changes.size(); ++i) {
            last = changes[i].interval != kNoInterval ? changes[i].interval : last;
            changes[i].interval = last;
        }
    }
    for (auto& [thread, changes] : of_thread_) {
        for (Change& change : changes) {
            change.interval = around.find(change.interval, change.event);
        }
    }
}

uint32_t IntervalIndex::find(uint32_t thread, uint64_t event) const {
    const auto list = of_thread_.find(thread);
    if (list == of_thread_.end()) {
        return kNoInterval;
    }
    const auto after = std::ranges::upper_bound(list->second, event, {}, &Change::event);
    return after == list->second.begin() ? kNoInterval : (after - 1)->interval;
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
