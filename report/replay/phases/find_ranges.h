// The part of a run that a report is asked for, as events: phases by name, or all between two
// times.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/replay/values/phase_table.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Seconds since the start of the trace, the first one of "2..3.5s" included. Either may be left
// out: "2..", "..3.5". Empty when `text` is no such range.
std::optional<std::pair<double, double>> parse_time_range(const std::string& text);

// In order, apart from one another. `text`: a range of times, or a phase as find_phase() takes it.
// Empty: the trace has no such phase, or no event between these times. A range of times takes a
// pass over the events.
std::vector<EventRange> find_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress = {});

// What to say when there are none.
std::string no_ranges_text(const TraceReader& reader,
                           const PhaseTable& phases,
                           const std::string& text);

// The same, and none for an empty text: all of the run. Throws TraceError when there are none.
std::vector<EventRange> need_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress = {});

// Whether an event lies in one of the ranges, asked in the order of the events. Without ranges
// every event does.
class EventWindow {
public:
    explicit EventWindow(std::vector<EventRange> ranges) : ranges_(std::move(ranges)) {}

    bool is_whole() const { return ranges_.empty(); }
    bool contains(uint64_t event) {
        while (next_ < ranges_.size() && ranges_[next_].end <= event) {
            ++next_;
        }
        return ranges_.empty() || (next_ < ranges_.size() && ranges_[next_].begin <= event);
    }
    // In any order.
    bool overlaps(uint64_t begin, uint64_t end) const;

private:
    std::vector<EventRange> ranges_;
    size_t next_ = 0;
};

}  // namespace peakline::report
