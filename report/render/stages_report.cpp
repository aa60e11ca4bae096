// `stages`: the levels before and after every module, backward pass and step of the optimizer.
#include <algorithm>

#include "calls_report.h"
#include "format_bytes.h"
#include "path_display.h"
#include "table_report.h"
#include "text_columns.h"

namespace peakline::report {
namespace {

void put_stage(JsonWriter& json, const CallsReport& report, const StageRow& row) {
    json.begin_object().key("step");
    row.step.has_value() ? json.value(*row.step) : json.null();
    json.field("module", row.module).field("stage", row.stage).key("mem").begin_object();
    json.field("allocated", row.levels.allocated_bytes);
    put_reserved(json, report, "cached", row.levels.reserved_bytes);
    json.field("max_allocated", row.levels.max_allocated_bytes);
    put_reserved(json, report, "max_cached", row.levels.max_reserved_bytes);
    json.end_object().field("seconds", report.reader.seconds(row.tick)).end_object();
}

// The rows of the first `top` steps, and of what comes before and between them.
size_t shown_rows(const std::vector<StageRow>& rows, uint64_t top) {
    const auto beyond = std::find_if(rows.begin(), rows.end(), [top](const StageRow& row) {
        return top != 0 && row.step.value_or(0) >= top;
    });
    return static_cast<size_t>(beyond - rows.begin());
}

}  // namespace

std::string stages_text(const CallsReport& report) {
    using enum Align;
    const std::vector<StageRow> rows =
        build_stages(report.result, report.rules, report.phases.table);
    const size_t shown = shown_rows(rows, report.top);
    TextColumns columns(
        {kRight, kLeft, kRight, kRight, kRight, kRight, kLeft},
        {"Step", "Stage", "Allocated", "Reserved", "Max allocated", "Max reserved", "Module"});
    for (size_t i = 0; i < shown; ++i) {
        const StageRow& row = rows[i];
        columns.add({optional_step_text(row.step),
                     row.stage,
                     format_bytes(row.levels.allocated_bytes),
                     reserved_text(report, row.levels.reserved_bytes),
                     format_bytes(row.levels.max_allocated_bytes),
                     reserved_text(report, row.levels.max_reserved_bytes),
                     std::string(size_t{2} * row.depth, ' ') + printable(row.module)});
    }
    std::string text = calls_head_text(report) +
                       "Calls are seen by their allocations: one that makes none has no rows\n" +
                       columns.text();
    if (shown < rows.size()) {
        text += "... " + std::to_string(rows.size() - shown) + " more rows in later steps" +
                " (--top 0)\n";
    }
    return text + health_text(report.phases.health);
}

std::string stages_json(const CallsReport& report) {
    const std::vector<StageRow> rows =
        build_stages(report.result, report.rules, report.phases.table);
    const size_t shown = shown_rows(rows, report.top);
    JsonWriter json;
    put_calls_head(json, report);
    json.field("row_count", static_cast<uint64_t>(rows.size())).key("stages").begin_array();
    for (size_t i = 0; i < shown; ++i) {
        put_stage(json, report, rows[i]);
    }
    json.end_array();
    put_health(json, report.reader, report.phases.health);
    return json.end_object().take();
}

}  // namespace peakline::report
