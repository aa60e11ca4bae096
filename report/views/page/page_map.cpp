#include "page_map.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "map_builder.h"
#include "report/replay/blocks/block_stream.h"

namespace peakline::report {
namespace {

constexpr size_t kMostPhases = 24;
constexpr uint64_t kMostTimes = 96;
constexpr const char* kAnyTime = "time";

// From the most to the least.
enum class MapDetail : uint8_t { kEveryEvent, kManyMoments, kNamedMoments, kPeakOnly };

class MapFollower : public BlockFollower {
public:
    // All must outlive this.
    MapFollower(MapBuilder& builder, const MapRequest& request, MapDetail detail)
        : builder_(builder), request_(request), detail_(detail) {}

    void before_event(EventTime at) {
        if (!is_shown_ && at.tick >= request_.from_tick) {
            begin();
        }
        take_wanted(at.event);
        if (is_shown_ && at.tick > request_.to_tick) {
            end();
            is_past_ = true;
        }
        now_ = at;
        builder_.begin_event(at.tick);
    }

    void on_alloc(const BlockAlloc& block) {
        if (!is_done() && counts(block.shape)) {
            builder_.add(block);
            level_.bytes += bytes_of(block.shape, request_.measure);
            consider();
        }
    }

    void on_free(const BlockFree& block) {
        if (!is_done() && counts(block.shape)) {
            builder_.free(block, is_over_);
            if (block.leaves(request_.measure)) {
                level_.bytes -= bytes_of(block.shape, request_.measure);
                consider();
            }
        }
    }

    void on_main_end(EventTime) {
        if (is_shown_) {
            end();
        }
    }

    void on_rare(const RareEvent& event, EventTime) {
        if (is_done()) {
            return;
        }
        builder_.on_rare(event);
        if (const auto mark = event.as<format::Mark>()) {
            if (mark->kind == format::MarkKind::kTracingStarted) {
                level_.traced = true;
                consider();
            } else if (mark->kind == format::MarkKind::kTracingStopped) {
                level_.traced = false;
            }
        }
    }

    // Call it after the pass. Whether the page has room for everything.
    bool finish() {
        take_wanted(UINT64_MAX);
        if (!is_over_) {
            end();
        }
        return fits();
    }

private:
    bool fits() { return builder_.map().changes.size() <= request_.max_changes; }
    // The peak may come after the end of main, and so may the moments of the bar.
    bool is_done() {
        const bool has_all = is_over_ && has_peak_;
        return is_past_ || (has_all && detail_ != MapDetail::kEveryEvent) || !fits();
    }
    bool counts(const AllocationShape& shape) const { return shape.device == request_.device; }

    void begin() {
        is_shown_ = true;
        if (detail_ == MapDetail::kEveryEvent) {
            builder_.keep_all();
        }
        if (request_.from_tick > 0) {
            now_.tick = request_.from_tick;
            consider();
        }
    }

    // The points of a page keep the first moment of this height.
    void consider() {
        const bool is_peak =
            level_.traced == request_.peak.traced && level_.bytes == request_.peak.bytes;
        if (is_shown_ && is_peak && !has_peak_) {
            has_peak_ = true;
            take("peak", 0);
        }
    }

    bool is_kept(const PageMapMoment& wanted) const {
        return wanted.kind == kAnyTime ? detail_ == MapDetail::kManyMoments
                                       : detail_ != MapDetail::kPeakOnly;
    }

    // Takes the moments before this event.
    void take_wanted(uint64_t event) {
        while (next_ < request_.wanted.size() && request_.wanted[next_].event < event) {
            const PageMapMoment& wanted = request_.wanted[next_++];
            if (is_shown_ && !is_over_ && is_kept(wanted)) {
                take(wanted.kind.c_str(), wanted.number);
            }
        }
    }

    void end() {
        if (!is_over_) {
            is_over_ = true;
            now_.tick = std::min(now_.tick, request_.to_tick);
            if (detail_ != MapDetail::kPeakOnly) {
                take("end", 0);
            }
        }
    }

    void take(const char* kind, uint32_t number) {
        builder_.put_now();
        PageMap& map = builder_.map();
        map.moments.push_back({kind, number, now_.event, now_.tick, map.changes.size()});
    }

    MapBuilder& builder_;
    const MapRequest& request_;
    MapDetail detail_;
    EventTime now_;
    Height level_;
    size_t next_ = 0;  // index in the wanted moments
    bool is_shown_ = false;
    bool is_over_ = false;  // main has ended
    bool is_past_ = false;  // past the shown range
    bool has_peak_ = false;
};

}  // namespace

void want_phases(const PhaseTable& table, uint64_t peak_tick, std::vector<PageMapMoment>* wanted) {
    std::optional<uint32_t> at_peak;
    std::optional<uint32_t> last;
    for (const PhaseInterval& one : table.phases) {
        if (one.depth == 0 && one.step.has_value()) {
            last = one.step;
            at_peak = one.begin_tick <= peak_tick ? one.step : at_peak;
        }
    }
    size_t count = 0;
    for (size_t i = 0; i < table.phases.size() && count < kMostPhases; ++i) {
        const PhaseInterval& one = table.phases[i];
        const bool is_in_step = one.step.has_value() && (one.step == at_peak || one.step == last);
        if (one.depth == 0 && one.end_event > 0 && is_in_step) {
            wanted->push_back({"phase", static_cast<uint32_t>(i), one.end_event - 1, 0, 0});
            ++count;
        }
    }
}

void want_times(uint64_t first_event,
                uint64_t last_event,
                uint64_t count,
                std::vector<PageMapMoment>* wanted) {
    const uint64_t parts = std::min(count, kMostTimes) + 1;
    for (uint64_t i = 1; i < parts; ++i) {
        const uint64_t event = first_event + (last_event - first_event) / parts * i;
        wanted->push_back({kAnyTime, 0, event, 0, 0});
    }
}

PageMap build_map(const TraceReader& reader,
                  const MapRequest& request,
                  const AllFacts& facts,
                  PageContexts& contexts,
                  const Progress& progress) {
    for (const MapDetail detail : {MapDetail::kEveryEvent,
                                   MapDetail::kManyMoments,
                                   MapDetail::kNamedMoments,
                                   MapDetail::kPeakOnly}) {
        if (detail == MapDetail::kEveryEvent && request.event_count > request.max_changes) {
            continue;
        }
        BlockStream stream(reader);
        MapBuilder builder(stream, request.device, facts, contexts);
        MapFollower follower(builder, request, detail);
        stream.run(progress, follower);
        if (follower.finish()) {
            return std::move(builder.map());
        }
    }
    return {};
}

}  // namespace peakline::report
