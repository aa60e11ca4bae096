#include "calls_report.h"

#include "report/render/format/device_json.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {

void put_calls_head(Document& document, const CallsReport& report) {
    document.fields().field("schema_version", 1).field("file", report.reader.name());
    const bool is_sum = report.selection.request.device.kind == DeviceChoiceKind::kAll;
    put_device(document.fields(), report.chosen.device, scope_of(is_sum));
    document.say_lines(head_text(report.reader));
    document.show_fact("peak_bytes", "Max mem", bytes_cell(report.chosen.peak_bytes));
    const std::string& during = report.selection.during;
    document.fields().text_or_null("during", during);
    document.say(during.empty() ? "" : "During " + during + " only:");
}

Cell reserved_cell(const CallsReport& report, uint64_t bytes) {
    return report.result.knows_reserved ? bytes_cell(bytes) : no_cell();
}

}  // namespace peakline::report
