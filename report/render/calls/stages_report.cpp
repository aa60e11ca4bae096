// `stages`: the levels before and after every module, backward pass and step of the optimizer.
#include "calls_report.h"

namespace peakline::report {
namespace {

void put_levels(JsonWriter& json, const CallsReport& report, const MemoryLevels& levels) {
    json.key("mem").begin_object().field("allocated", levels.allocated_bytes);
    put_value(json.key("cached"), reserved_cell(report, levels.reserved_bytes));
    json.field("max_allocated", levels.max_allocated_bytes);
    put_value(json.key("max_cached"), reserved_cell(report, levels.max_reserved_bytes));
    json.end_object();
}

}  // namespace

void put_stages(Document& document, const CallsReport& report) {
    const Stages& stages = report.stages;
    document.fields().field("row_count", stages.row_count);
    document.say("A call that allocates nothing is not listed");
    DocumentTable table(document,
                        "stages",
                        {{"step", "Step"},
                         {"stage", "Stage", Align::kLeft},
                         {nullptr, "Allocated"},
                         {nullptr, "Reserved"},
                         {nullptr, "Max allocated"},
                         {nullptr, "Max reserved"},
                         {"module", "Module", Align::kLeft},
                         hidden("seconds")});
    for (const StageRow& row : stages.rows) {
        JsonWriter& json =
            table.begin({cell(row.step),
                         cell(row.stage),
                         bytes_cell(row.levels.allocated_bytes),
                         reserved_cell(report, row.levels.reserved_bytes),
                         bytes_cell(row.levels.max_allocated_bytes),
                         reserved_cell(report, row.levels.max_reserved_bytes),
                         cell(row.module).shown_as(indentation(row.depth) + row.module),
                         cell(report.reader.seconds(row.tick))});
        put_levels(json, report, row.levels);
        table.end();
    }
    table.leave_out(stages.row_count - stages.rows.size(), "more rows in later steps");
}

}  // namespace peakline::report
