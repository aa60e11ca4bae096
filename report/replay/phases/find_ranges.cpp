#include "find_ranges.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <string_view>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/values/near_name.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

constexpr std::string_view kBetween = "..";

// Parses "2", "3.5s", or an empty text.
bool parse_bound(std::string_view text, double* seconds) {
    if (text.empty()) {
        return true;
    }
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, *seconds, std::chars_format::fixed);
    const bool is_whole = parsed.ptr == end || (parsed.ptr + 1 == end && *parsed.ptr == 's');
    return parsed.ec == std::errc() && is_whole && *seconds >= 0;
}

class TimeFollower : public BlockFollower {
public:
    TimeFollower(const TraceReader& reader, double from_seconds, double to_seconds)
        : from_(reader.tick_of(from_seconds)), to_(reader.tick_of(to_seconds)) {}

    void before_event(EventTime at) {
        if (at.tick >= from_ && at.tick <= to_) {
            range_.begin = range_.end == 0 ? at.event : range_.begin;
            range_.end = at.event + 1;
        }
    }
    EventRange range() const { return range_; }

private:
    uint64_t from_;  // ticks
    uint64_t to_;
    EventRange range_;
};

std::vector<std::string> names_of(const PhaseTable& table) {
    // Moments that are no phases, too: the user may have meant one.
    std::set<std::string> names = {"peak", "end", "oom", "step"};
    for (const auto* const intervals : {&table.phases, &table.named}) {
        for (const PhaseInterval& one : *intervals) {
            names.insert(one.name);
        }
    }
    return {names.begin(), names.end()};
}

}  // namespace

std::optional<std::pair<double, double>> parse_time_range(const std::string& text) {
    const size_t between = text.find(kBetween);
    std::pair<double, double> range = {0, std::numeric_limits<double>::infinity()};
    const std::string_view whole = text;
    if (between == std::string::npos || text.size() == kBetween.size() ||
        !parse_bound(whole.substr(0, between), &range.first) ||
        !parse_bound(whole.substr(between + kBetween.size()), &range.second)) {
        return std::nullopt;
    }
    return range;
}

std::vector<EventRange> find_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress) {
    const auto times = parse_time_range(text);
    if (!times.has_value()) {
        return find_phase(phases, text);
    }
    BlockStream stream(reader);
    TimeFollower follower(reader, times->first, times->second);
    stream.run(progress, follower);
    const EventRange range = follower.range();
    return range.end != 0 ? std::vector<EventRange>{range} : std::vector<EventRange>();
}

std::string no_ranges_text(const TraceReader& reader,
                           const PhaseTable& phases,
                           const std::string& text) {
    if (parse_time_range(text).has_value()) {
        return reader.name() + ": nothing happened within " + text +
               " (seconds since the trace began)";
    }
    const std::string near = did_you_mean(text.substr(0, text.find('@')), names_of(phases));
    return reader.name() + ": phase '" + text + "' is not in this trace" +
           (near.empty() ? "; peakline phases lists its phases" : near);
}

std::vector<EventRange> need_ranges(const TraceReader& reader,
                                    const PhaseTable& phases,
                                    const std::string& text,
                                    const Progress& progress) {
    if (text.empty()) {
        return {};
    }
    std::vector<EventRange> ranges = find_ranges(reader, phases, text, progress);
    if (ranges.empty()) {
        throw TraceError(no_ranges_text(reader, phases, text));
    }
    return ranges;
}

bool EventWindow::overlaps(uint64_t begin, uint64_t end) const {
    if (ranges_.empty()) {
        return true;
    }
    const auto after = std::partition_point(
        ranges_.begin(), ranges_.end(), [&](const EventRange& one) { return one.end <= begin; });
    return after != ranges_.end() && after->begin < end;
}

}  // namespace peakline::report
