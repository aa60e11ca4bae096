// Finds the requested part of a run as ranges of events: phases by name, or everything between two
// times.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/replay/values/phase_table.h"
#include "report/trace/reader.h"

namespace peakline::report {

// Parses "2..3.5s": seconds since the start of the trace, the first one included. Either may be
// left out: "2..", "..3.5". nullopt when `text` is no such range.
std::optional<std::pair<double, double>> parse_time_range(const std::string& text);

// Returns sorted, disjoint ranges. `text`: a range of times, or a phase as find_phase() takes it.
// Empty: the trace has no such phase, or no event between these times. A range of times takes a
// pass over the events.
std::vector<EventRange> find_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress = {});

// The error message for an empty result.
std::string no_ranges_text(const TraceReader& reader,
                           const PhaseTable& phases,
                           const std::string& text);

// As find_ranges(), with no ranges for an empty text: the whole run. Throws TraceError when no
// range is found.
std::vector<EventRange> need_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress = {});

// Whether an event is in one of the ranges; call it in the order of the events. Without ranges
// every event is.
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
    // May be called in any order.
    bool overlaps(uint64_t begin, uint64_t end) const;

private:
    std::vector<EventRange> ranges_;
    size_t next_ = 0;
};

}  // namespace peakline::report
