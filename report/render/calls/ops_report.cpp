// `ops`: the levels after every operator that allocates.
#include "calls_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_point(JsonWriter& json, const CallsReport& report, const OperatorPoint& point) {
    const OperatorCall& call = point.call;
    json.begin_object()
        .field("op_index", point.index)
        .field("name", point_name(point, report.rules));
    json.field("op", report.rules.operations[call.operation]).key("module");
    call.layer != kNoLayer ? json.value(report.rules.layers[call.layer]) : json.null();
    json.field("phase", phase_name(point.phase)).key("step");
    point.step.has_value() ? json.value(*point.step) : json.null();
    json.field("seconds", report.reader.seconds(call.begin_tick));
    json.field("delta_bytes", point.delta_bytes);
    json.field("alloc_count", call.alloc_count).field("alloc_bytes", call.allocated_bytes);
    json.field("allocated_bytes", call.after.allocated_bytes);
    json.field("active_bytes", call.after.active_bytes);
    put_reserved(json, report, "reserved_bytes", call.after.reserved_bytes);
    json.end_object();
}

void put_markers(JsonWriter& json, const std::vector<SeriesMarker>& markers) {
    json.key("markers").begin_array();
    for (const SeriesMarker& marker : markers) {
        json.begin_object().field("name", marker.name).key("step");
        marker.step.has_value() ? json.value(*marker.step) : json.null();
        json.field("op_index", marker.index).end_object();
    }
    json.end_array();
}

}  // namespace

std::string ops_text(const CallsReport& report) {
    using enum Align;
    TextColumns columns({kRight, kRight, kRight, kRight, kRight, kRight, kLeft},
                        {"Added", "Allocated", "Active", "Reserved", "Index", "Step", "Operator"});
    for (const OperatorPoint& point : report.series.points) {
        columns.add({format_bytes(point.delta_bytes),
                     format_bytes(point.call.after.allocated_bytes),
                     format_bytes(point.call.after.active_bytes),
                     reserved_text(report, point.call.after.reserved_bytes),
                     std::to_string(point.index),
                     optional_step_text(point.step),
                     point_name(point, report.rules)});
    }
    return calls_head_text(report) + format_count(report.series.point_count) +
           " operator calls allocated memory; the largest increases (--json lists all, in "
           "order):\n" +
           columns.text({}, report.width) + health_text(report.phases.health);
}

std::string ops_json(const CallsReport& report) {
    JsonWriter json;
    put_calls_head(json, report);
    json.field("row_count", report.series.point_count).key("ops").begin_array();
    for (const OperatorPoint& point : report.series.points) {
        put_point(json, report, point);
    }
    json.end_array();
    put_markers(json, report.series.markers);
    put_health(json, report.reader, report.phases.health);
    return json.end_object().take();
}

}  // namespace peakline::report
