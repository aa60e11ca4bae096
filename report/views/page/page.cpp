#include "page.h"

#include <algorithm>
#include <string>
#include <utility>

#include "first_pass.h"
#include "report/trace/file/trace_error.h"
#include "report/views/selection/check_sum.h"
#include "second_pass.h"

namespace peakline::report {
namespace {

void check_rows(const Page& page, const PagePeak& peak) {
    uint64_t sum = 0;
    for (const PageRow& row : peak.rows) {
        sum += row.bytes;
    }
    check_sum("contexts", sum, page.points.points()[peak.point].peak.bytes);
}

}  // namespace

uint64_t PageRefused::room_bytes() const {
    if (limit_bytes == 0 || !reserved_bytes.has_value()) {
        return request.free_bytes;
    }
    const uint64_t left = limit_bytes - std::min(limit_bytes, *reserved_bytes);
    return std::min(request.free_bytes, left);
}

uint64_t PageRefused::missing_bytes() const {
    return request.requested_bytes - std::min(request.requested_bytes, room_bytes());
}

uint64_t PageRefused::unused_bytes() const {
    const uint64_t reserved = reserved_bytes.value_or(0);
    return reserved - std::min(reserved, active_bytes);
}

Page build_page(const TraceReader& reader,
                const Selection& selection,
                const PageRequest& request,
                StackLookup& stacks,
                const Progress& progress) {
    Page page;
    FirstPass first(reader, selection, stacks, progress);
    const AllFacts& facts = first.facts;
    page.phases = std::move(first.phases);
    page.chosen = first.chosen;
    const PageLimits& limits = request.limits;
    const uint64_t event_count = page.phases.health.event_count;
    const size_t least = event_count <= limits.every_event ? event_count : 0;
    page.points = PagePoints(std::max(limits.points, least));
    page.moments = PageMoments(std::max(limits.moments, least), limits.changes);
    PageContexts contexts(stacks, page.phases.table);
    const ShownRange range = {reader.tick_of(request.from_seconds),
                              reader.tick_of(request.to_seconds)};
    const std::vector<PageMapMoment> wanted = follow_levels(
        {reader, selection.request, range, limits, facts, stacks}, contexts, progress, &page);
    if (page.has_segments && !page.points.points().empty()) {
        const MapRequest asked_map = {selection.request.measure,
                                      page.chosen.device,
                                      range.from_tick,
                                      range.to_tick,
                                      page.points.points()[page.points.highest()].peak,
                                      wanted,
                                      limits.map_changes,
                                      page.event_count};
        try {
            page.map = build_map(reader, asked_map, facts, contexts, progress);
        } catch (const TraceError& error) {
            page.has_segments = false;
            page.phases.health.problems.add("the page has no map: " + std::string(error.what()));
        }
    }
    page.names = contexts.take();
    page.moments.finish();
    for (PageRefused& refused : page.refused) {
        refused.point /= page.points.events_per_point();
    }
    if (page.points.points().empty()) {
        throw TraceError(reader.name() +
                         ": nothing was allocated in the requested time; the trace"
                         " has " +
                         std::to_string(reader.seconds(reader.last_tick())) + " seconds");
    }
    return page;
}

uint64_t work_end_tick(const Page& page) {
    constexpr uint64_t kRoomPart = 50;
    const std::vector<PagePoint>& points = page.points.points();
    size_t last = points.size() - 1;
    while (last > 0 && points[last].peak.bytes <= points[last - 1].min_bytes) {
        --last;
    }
    uint64_t work = points[last].peak_tick;
    for (const auto* intervals : {&page.phases.table.phases, &page.phases.table.named}) {
        for (const PhaseInterval& one : *intervals) {
            work = std::max(work, std::min(one.end_tick, page.end_tick));
        }
    }
    const uint64_t begin = points.front().begin_tick;
    const uint64_t room = (work - std::min(work, begin)) / kRoomPart;
    return room > 0 && page.end_tick - work > 2 * room ? work + room : page.end_tick;
}

PagePeak find_peak(const Page& page) {
    PagePeak peak;
    peak.point = page.points.highest();
    peak.moment = peak.point * page.points.events_per_point() / page.moments.events_per_moment();
    peak.rows = rows_by_line(page.names, page.moments.live_at(peak.moment));
    check_rows(page, peak);
    return peak;
}

}  // namespace peakline::report
