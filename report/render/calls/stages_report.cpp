// `stages`: the levels before and after every module, backward pass and step of the optimizer.
#include "calls_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/table_report.h"

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

}  // namespace

std::string stages_text(const CallsReport& report) {
    using enum Align;
    const Stages& stages = report.stages;
    TextColumns columns(
        {kRight, kLeft, kRight, kRight, kRight, kRight, kLeft},
        {"Step", "Stage", "Allocated", "Reserved", "Max allocated", "Max reserved", "Module"});
    for (const StageRow& row : stages.rows) {
        columns.add({optional_step_text(row.step),
                     row.stage,
                     format_bytes(row.levels.allocated_bytes),
                     reserved_text(report, row.levels.reserved_bytes),
                     format_bytes(row.levels.max_allocated_bytes),
                     reserved_text(report, row.levels.max_reserved_bytes),
                     indentation(row.depth) + row.module});
    }
    std::string text = calls_head_text(report) + "A call that allocates nothing is not listed\n" +
                       columns.text({}, report.width);
    if (stages.rows.size() < stages.row_count) {
        text += "... " + std::to_string(stages.row_count - stages.rows.size()) +
                " more rows in later steps (--top 0)\n";
    }
    return text + health_text(report.phases.health);
}

std::string stages_json(const CallsReport& report) {
    const Stages& stages = report.stages;
    JsonWriter json;
    put_calls_head(json, report);
    json.field("row_count", stages.row_count).key("stages").begin_array();
    for (const StageRow& row : stages.rows) {
        put_stage(json, report, row);
    }
    json.end_array();
    put_health(json, report.reader, report.phases.health);
    return json.end_object().take();
}

}  // namespace peakline::report
