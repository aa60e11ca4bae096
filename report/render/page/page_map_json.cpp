#include "page_map_json.h"

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>

#include "report/render/allocator/whatif_report.h"
#include "report/render/ledger/ledger_report.h"
#include "report/trace/file/trace_error.h"
#include "report/views/allocator/whatif.h"
#include "report/views/ledger/ledger.h"

namespace peakline::report {
namespace {

// Longer runs have neither on the page: both read all events several times. `peakline ledger` and
// `peakline whatif` take any run.
constexpr uint64_t kMostEventsForLedgers = 3'000'000;
constexpr uint64_t kMostEventsForWhatIf = 300'000;
constexpr uint64_t kMostLines = 8;  // per library of a ledger

bool has_ledger(const PageMapMoment& moment) {
    return moment.kind != "phase" && moment.kind != "time";
}

// Null when the run is too long, the moment has no ledger, or the trace lacks the records.
void put_moment_ledger(JsonWriter& json, const PageMapReport& report, const PageMapMoment& moment) {
    json.key("ledger");
    const bool is_short = report.page.phases.health.event_count <= kMostEventsForLedgers;
    if (!is_short || !has_ledger(moment)) {
        json.null();
        return;
    }
    std::optional<Ledger> ledger;
    try {
        const MomentEvent event = {moment.event, moment.tick, report.page.chosen.device};
        ledger = make_ledger_at(report.reader, event, report.stacks, {});
    } catch (const TraceError&) {
        json.null();
        return;
    }
    json.embed(document_of<LedgerReport>(
        OutputForm::kJson,
        put_ledger,
        {report.reader, *ledger, {}, moment.kind, kMostLines, report.options.paths}));
}

void put_moments(JsonWriter& json, const PageMapReport& report) {
    json.key("moments").begin_array();
    for (const PageMapMoment& moment : report.page.map.moments) {
        json.begin_object().field("kind", moment.kind).field("number", moment.number);
        json.field("seconds", report.reader.seconds(moment.tick));
        json.field("change", static_cast<uint64_t>(moment.change_end));
        put_moment_ledger(json, report, moment);
        json.end_object();
    }
    json.end_array();
}

// Null when the run is too long to be replayed under every setting, or cannot be replayed.
void put_page_whatif(JsonWriter& json, const PageMapReport& report) {
    json.key("whatif");
    if (!report.page.has_segments || report.page.phases.health.event_count > kMostEventsForWhatIf) {
        json.null();
        return;
    }
    WhatIfText text;
    text.searches = true;
    try {
        const WhatIf answer =
            make_whatif_runs(report.reader, text, report.page.chosen.device, report.stacks, {});
        json.embed(document_of<WhatIfReport>(
            OutputForm::kJson, put_whatif, {report.reader, answer, text, 0, report.options.paths}));
    } catch (const TraceError&) {
        json.null();
    }
}

void put_streams(JsonWriter& json, const TraceReader& reader) {
    json.key("streams").begin_array();
    json.value("default stream");  // the streams of the trace follow: their ids begin at 1
    for (const uint64_t handle : reader.definitions().streams.items()) {
        char text[32];
        std::snprintf(text, sizeof(text), "stream 0x%" PRIx64, handle);
        json.value(handle == kLostStream ? kLostName : text);
    }
    json.end_array();
}

}  // namespace

void put_page_map(JsonWriter& json, const PageMapReport& report) {
    const PageMap& map = report.page.map;
    json.key("map").begin_object().field("has_segments", report.page.has_segments);
    json.field("has_every_event", map.has_every_event);
    json.field("first_change", static_cast<uint64_t>(map.first_change));
    json.key("pools").begin_array();
    for (const uint64_t pool : map.pools) {
        json.value(pool);
    }
    json.end_array();
    put_moments(json, report);
    json.end_object();
    put_page_whatif(json, report);
    put_streams(json, report.reader);
}

}  // namespace peakline::report
