// `ops`: the levels after every operator that allocates.
#include "calls_report.h"

namespace peakline::report {
namespace {

void put_point(DocumentTable& table, const CallsReport& report, const OperatorPoint& point) {
    const OperatorCall& call = point.call;
    table.add({bytes_cell(point.delta_bytes),
               bytes_cell(call.after.allocated_bytes),
               bytes_cell(call.after.active_bytes),
               reserved_cell(report, call.after.reserved_bytes),
               cell(point.index),
               cell(point.step),
               cell(point_name(point, report.rules)),
               cell(report.rules.operations[call.operation]),
               call.layer != kNoLayer ? cell(report.rules.layers[call.layer]) : no_cell(),
               cell(phase_name(point.phase)),
               cell(report.reader.seconds(call.begin_tick)),
               cell(call.alloc_count),
               cell(call.allocated_bytes)});
}

}  // namespace

void put_ops(Document& document, const CallsReport& report) {
    document.fields().field("row_count", report.series.point_count);
    document.say(format_count(report.series.point_count) +
                 " operator calls allocated memory; the largest increases (--json lists all, in "
                 "order):");
    {
        DocumentTable table(document,
                            "ops",
                            {{"delta_bytes", "Added"},
                             {"allocated_bytes", "Allocated"},
                             {"active_bytes", "Active"},
                             {"reserved_bytes", "Reserved"},
                             {"op_index", "Index"},
                             {"step", "Step"},
                             {"name", "Operator", Align::kLeft},
                             hidden("op"),
                             hidden("module"),
                             hidden("phase"),
                             hidden("seconds"),
                             hidden("alloc_count"),
                             hidden("alloc_bytes")});
        for (const OperatorPoint& point : report.series.points) {
            put_point(table, report, point);
        }
    }
    JsonWriter& json = document.fields().key("markers").begin_array();
    for (const SeriesMarker& marker : report.series.markers) {
        json.begin_object().field("name", marker.name).field("step", marker.step);
        json.field("op_index", marker.index).end_object();
    }
    json.end_array();
}

}  // namespace peakline::report
