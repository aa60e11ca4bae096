// `advise` for programs.
#include "advise_report.h"
#include "report/render/facts/coverage.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_one(JsonWriter& json, const PathDisplay& paths, const Advice& advice) {
    json.begin_object().field("rule", advice.rule).field("kind", cause_kind_name(advice.kind));
    json.field("title", advice.title);
    json.field("saves_bytes", advice.saves_bytes).field("exact", advice.is_exact);
    json.field("held_bytes", advice.held_bytes);
    const std::vector<Label> labels = {advice.line};
    json.text_or_null("key", label_text(paths, advice.line));
    put_location_of(json, labels);
    json.key("other_keys").begin_array();
    for (const Label& line : advice.other_lines) {
        json.value(label_text(paths, line));
    }
    json.end_array();
    json.text_or_null("evidence", advice.evidence);
    json.text_or_null("change", advice.change).text_or_null("try", advice.attempt).end_object();
}

}  // namespace

void put_pieces_of_advice(JsonWriter& json,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top) {
    json.begin_array();
    const uint64_t shown = shown_count(top, advice.size());
    for (size_t i = 0; i < shown; ++i) {
        put_one(json, paths, advice[i]);
    }
    json.end_array();
}

std::string advise_json(const AdviseReport& report) {
    const AdviceReport& found = report.found;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    put_device(json, found.device.device, scope_of(found.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("peak_bytes", found.device.peak_bytes);
    json.text_or_null("phase", found.phase).field("step", found.step);
    json.key("advice");
    put_pieces_of_advice(json, report.paths, found.advice, report.top);
    json.key("tried").begin_array().end_array();
    put_health(json, report.reader, found.health);
    put_coverage(json, report.reader);
    return json.end_object().take();
}

}  // namespace peakline::report
