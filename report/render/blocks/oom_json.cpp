// `oom --json`. The fields: JSON.md.
#include "oom_report.h"
#include "report/render/blocks/holders_report.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_holder_rows(JsonWriter& json, const OomReport& report) {
    json.key("holders").begin_array();
    if (report.holders != nullptr) {
        for (const HolderRow& row : report.holders->list.rows) {
            json.begin_object().field("block_bytes", row.block.block_bytes);
            json.field("made_at", label_text(report.paths, row.made_at));
            put_holders(json, row);
            json.end_object();
        }
    }
    json.end_array();
}

void put_rows(JsonWriter& json, const OomReport& report, const char* key, const Table& table) {
    json.key(key).begin_array();
    const uint64_t shown = shown_count(report.top, table.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = table.rows[i];
        json.begin_object().field("key", label_text(report.paths, row.labels.front()));
        json.field("bytes", row.bytes).field("count", row.count);
        put_location_of(json, row.labels);
        json.end_object();
    }
    json.end_array();
}

void put_segments(JsonWriter& json, const OomReport& report) {
    const std::optional<RefusedSegments>& segments = report.autopsy.segments;
    const auto known = [&](uint64_t RefusedSegments::*field) {
        return segments ? std::optional((*segments).*field) : std::nullopt;
    };
    json.field("reserved_bytes", known(&RefusedSegments::reserved_bytes));
    json.field("waiting_bytes", known(&RefusedSegments::waiting_bytes));
    json.field("free_in_segments_bytes", known(&RefusedSegments::free_bytes));
    const auto in_pieces = [&](uint64_t bytes) {
        return segments && segments->knows_pieces ? std::optional(bytes) : std::nullopt;
    };
    const RefusedSegments found = segments.value_or(RefusedSegments());
    json.field("usable_bytes", in_pieces(found.usable.bytes));
    json.field("largest_free_block_bytes", in_pieces(found.usable.largest_bytes));
    json.field("pinned_bytes", in_pieces(found.pinned.bytes));
    json.field("other_pools_bytes", in_pieces(found.of_other_pools.bytes));
    json.field("largest_of_other_streams_bytes", in_pieces(found.largest_of_other_streams_bytes));
    json.field("largest_of_other_pools_bytes", in_pieces(found.of_other_pools.largest_bytes));
    json.field("outside_bytes", report.autopsy.outside_bytes());
    json.field("other_process_bytes", report.autopsy.other_process_bytes());
    json.key("pins").begin_array();
    const FreePieces* const pieces = report.autopsy.free_pieces();
    for (const PinningRow& row : pieces != nullptr ? pieces->pins : std::vector<PinningRow>()) {
        json.begin_object().field("key", label_text(report.paths, row.label));
        json.field("bytes", row.bytes).field("count", row.count);
        json.field("free_bytes", row.free_bytes).end_object();
    }
    json.end_array();
}

void put_autopsy(JsonWriter& json, const OomReport& report) {
    const Autopsy& autopsy = report.autopsy;
    const RefusedRequest& refused = autopsy.refused;
    json.begin_object().field("number", autopsy.number).field("is_caught", autopsy.is_caught);
    json.field("seconds", report.reader.seconds(refused.request.tick));
    json.field("device", refused.request.device).field("stream", refused.stream);
    json.field("requested_bytes", refused.asked_bytes);
    json.field("device_request_bytes", refused.request.requested_bytes);
    json.field("free_bytes", refused.request.free_bytes);
    const auto known = [](uint64_t bytes) {
        return bytes != 0 ? std::optional(bytes) : std::nullopt;
    };
    json.field("total_bytes", known(autopsy.device_bytes));
    json.field("limit_bytes", known(refused.limit_bytes));
    json.field("live_bytes", refused.live_bytes).field("missing_bytes", autopsy.missing_bytes);
    put_segments(json, report);
    json.field("reason", reason_name(autopsy.reason));
    json.field("refused_by", autopsy.is_over_limit ? "limit" : "device");
    json.text_or_null("served_with", report.serving.text);
    json.field("location", label_text(report.paths, autopsy.line));
    json.field("phase", autopsy.phase).field("module", autopsy.module);
    json.field("step", autopsy.step);
    put_rows(json, report, "rows", autopsy.lines);
    put_rows(json, report, "categories", autopsy.categories);
    put_holder_rows(json, report);
    json.end_object();
}

void put_head(JsonWriter& json, const TraceReader& reader, const RefusedRequests& refused) {
    json.begin_object().field("schema_version", 1);
    put_run_facts(json, reader);
    put_simulated(json, reader);
    const bool has_ended = refused.count != 0 && ended_the_program(reader, refused);
    json.field("refused", refused.count);
    json.field("caught", refused.count - (has_ended ? 1 : 0));
    json.key("ooms").begin_array();
}

}  // namespace

std::string oom_json(const OomReport& report) {
    JsonWriter json;
    put_head(json, report.reader, report.refused);
    put_autopsy(json, report);
    json.end_array().key("others").begin_array();
    for (const RefusedLine& one : report.others) {
        json.begin_object().field("location", label_text(report.paths, one.line));
        json.field("count", one.count).field("last_number", one.last_number).end_object();
    }
    return json.end_array().end_object().take();
}

std::string no_oom_json(const TraceReader& reader) {
    JsonWriter json;
    put_head(json, reader, {});
    return json.end_array().key("others").begin_array().end_array().end_object().take();
}

}  // namespace peakline::report
