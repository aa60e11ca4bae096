// What the reports about calls have in common.
#include "calls_report.h"

#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {

void put_calls_head(JsonWriter& json, const CallsReport& report) {
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    const bool is_sum = report.selection.request.device.kind == DeviceChoiceKind::kAll;
    put_device(json, report.chosen.device, scope_of(is_sum));
    json.field("peak_bytes", report.chosen.peak_bytes);
    json.text_or_null("during", report.selection.during);
}

std::string calls_head_text(const CallsReport& report) {
    std::string text =
        head_text(report.reader) + "Max mem: " + format_bytes(report.chosen.peak_bytes) + "\n";
    if (!report.selection.during.empty()) {
        text += "During " + printable(report.selection.during) + " only:\n";
    }
    return text;
}

void put_reserved(JsonWriter& json, const CallsReport& report, const char* key, uint64_t bytes) {
    json.key(key);
    report.result.knows_reserved ? json.value(bytes) : json.null();
}

std::string reserved_text(const CallsReport& report, uint64_t bytes) {
    return report.result.knows_reserved ? format_bytes(bytes) : "-";
}

std::string optional_step_text(const std::optional<uint32_t>& step) {
    return step.has_value() ? std::to_string(*step) : "-";
}

}  // namespace peakline::report
