// `advise` for programs.
#include "advise_report.h"
#include "report/render/facts/coverage.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_advice(JsonWriter& json, const AdviseReport& report, const Advice& advice) {
    json.begin_object().field("rule", advice.rule).field("title", advice.title);
    json.field("saves_bytes", advice.saves_bytes).field("exact", advice.is_exact);
    json.field("held_bytes", advice.held_bytes);
    const std::vector<Label> labels = {advice.line};
    json.text_or_null("key", label_text(report.paths, advice.line));
    json.key("location");
    const Location* const location = location_of_labels(labels);
    location != nullptr ? put_location(json, *location) : static_cast<void>(json.null());
    json.field("change", advice.change).text_or_null("try", advice.attempt).end_object();
}

}  // namespace

std::string advise_json(const AdviseReport& report) {
    const AdviceReport& found = report.found;
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    json.key("device");
    found.is_sum ? json.value("all") : json.value(found.device.device);
    json.field("measure", measure_name(report.selection.request.measure));
    json.field("peak_bytes", found.device.peak_bytes);
    json.text_or_null("phase", found.phase).field("step", found.step);
    json.key("advice").begin_array();
    const uint64_t shown = shown_count(report.top, found.advice.size());
    for (size_t i = 0; i < shown; ++i) {
        put_advice(json, report, found.advice[i]);
    }
    json.end_array();
    json.key("tried").begin_array().end_array();
    put_health(json, report.reader, found.health);
    put_coverage(json, report.reader);
    return json.end_object().take();
}

}  // namespace peakline::report
