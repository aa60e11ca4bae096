#include "named_follower.h"

#include <algorithm>

namespace peakline::report {

void NamedFollower::begin(Track& track, uint32_t name, EventTime at) {
    Open marked;
    marked.is_marked = true;
    marked.name = name;
    open(track, std::string(definitions_.text(name)), marked, at);
}

void NamedFollower::enter_region(Track& track, Region region, EventTime at) {
    const bool was_outside = track.region == Region::kNone;
    const bool goes_on =
        region == Region::kPrefill && track.region == Region::kDecode && track.region_is_first;
    const auto shown = std::find_if(
        track.open.begin(), track.open.end(), [](const Open& one) { return !one.is_marked; });
    track.region = region;
    if (goes_on && shown != track.open.end()) {
        named_[shown->interval].name = kRegionNames[static_cast<size_t>(region)];
        return;
    }
    if (shown != track.open.end()) {
        close(track, static_cast<size_t>(shown - track.open.begin()), at);
    }
    track.region_is_first = was_outside;
    if (region != Region::kNone) {
        open(track, kRegionNames[static_cast<size_t>(region)], Open{}, at);
    }
}

void NamedFollower::open(Track& track, std::string name, Open opened, EventTime at) {
    PhaseInterval& interval = named_.emplace_back();
    interval.phase = Phase::kNamed;
    interval.name = std::move(name);
    interval.thread = track.thread;
    interval.parent = track.open.empty() ? kNoInterval : track.open.back().interval;
    interval.depth = static_cast<uint32_t>(track.open.size());
    interval.begin_event = at.event;
    interval.begin_tick = at.tick;
    opened.interval = static_cast<uint32_t>(named_.size() - 1);
    opened.window = meter_.open(at.tick);
    track.open.push_back(opened);
}

void NamedFollower::close(Track& track, size_t slot, EventTime at) {
    PhaseInterval& interval = named_[track.open[slot].interval];
    interval.end_event = at.event;
    interval.end_tick = at.tick;
    interval.uses = meter_.close(track.open[slot].window);
    track.open.erase(track.open.begin() + static_cast<ptrdiff_t>(slot));
}

// Only the latest one of this name.
bool NamedFollower::end(Track& track, uint32_t name, EventTime at) {
    for (size_t slot = track.open.size(); slot-- > 0;) {
        if (track.open[slot].is_marked && track.open[slot].name == name) {
            close(track, slot, at);
            return true;
        }
    }
    return false;
}

void NamedFollower::end_all(Track& track, EventTime at) {
    while (!track.open.empty()) {
        close(track, track.open.size() - 1, at);
    }
}

}  // namespace peakline::report
