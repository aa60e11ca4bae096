#include "named_follower.h"

namespace peakline::report {

void NamedFollower::begin(Track& track, uint32_t name, EventTime at) {
    const size_t slot = open(track, std::string(definitions_.text(name)), at);
    track.marked[name].push_back(slot);
}

void NamedFollower::enter_region(Track& track, Region region, EventTime at) {
    const bool was_outside = track.region == Region::kNone;
    const bool goes_on =
        region == Region::kPrefill && track.region == Region::kDecode && track.region_is_first;
    track.region = region;
    if (track.shown.has_value()) {
        if (goes_on) {
            named_[track.open[*track.shown].interval].name =
                kRegionNames[static_cast<size_t>(region)];
            return;
        }
        close(track, *track.shown, at);
        track.shown.reset();
    }
    track.region_is_first = was_outside;
    if (region != Region::kNone) {
        track.shown = open(track, kRegionNames[static_cast<size_t>(region)], at);
    }
}

size_t NamedFollower::open(Track& track, std::string name, EventTime at) {
    PhaseInterval& interval = named_.emplace_back();
    interval.phase = Phase::kNamed;
    interval.name = std::move(name);
    interval.thread = track.thread;
    interval.parent = track.open.empty() ? kNoInterval : track.open.back().interval;
    interval.depth = track.open_count++;
    interval.begin_event = at.event;
    interval.begin_tick = at.tick;
    track.open.push_back({static_cast<uint32_t>(named_.size() - 1), meter_.open(at.tick)});
    return track.open.size() - 1;
}

void NamedFollower::close(Track& track, size_t slot, EventTime at) {
    Open& ended = track.open[slot];
    PhaseInterval& interval = named_[ended.interval];
    interval.end_event = at.event;
    interval.end_tick = at.tick;
    interval.uses = meter_.close(ended.window);
    ended.has_ended = true;
    --track.open_count;
    while (!track.open.empty() && track.open.back().has_ended) {
        track.open.pop_back();
    }
}

// Ends only the latest region of this name.
bool NamedFollower::end(Track& track, uint32_t name, EventTime at) {
    const auto found = track.marked.find(name);
    if (found == track.marked.end()) {
        return false;
    }
    close(track, found->second.back(), at);
    found->second.pop_back();
    if (found->second.empty()) {
        track.marked.erase(found);
    }
    return true;
}

void NamedFollower::end_all(Track& track, EventTime at) {
    while (!track.open.empty()) {
        close(track, track.open.size() - 1, at);
    }
    track.marked.clear();
    track.shown.reset();
}

}  // namespace peakline::report
