// `ops`: the levels after every operator that allocates.
#include <algorithm>

#include "calls_report.h"
#include "format_bytes.h"
#include "path_display.h"
#include "shown_count.h"
#include "table_report.h"
#include "text_columns.h"

namespace peakline::report {
namespace {

void put_point(JsonWriter& json,
               const CallsReport& report,
               const OperatorPoint& point,
               uint64_t index) {
    const OperatorCall& call = *point.call;
    json.begin_object().field("op_index", index).field("name", point_name(point, report.rules));
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

// Indices of the operators after which most was added, the largest first.
std::vector<size_t> largest(const std::vector<OperatorPoint>& points, uint64_t top) {
    std::vector<size_t> order;
    for (size_t i = 0; i < points.size(); ++i) {
        if (points[i].delta_bytes > 0) {
            order.push_back(i);
        }
    }
    const uint64_t shown = shown_count(top, order.size());
    std::partial_sort(order.begin(),
                      order.begin() + static_cast<ptrdiff_t>(shown),
                      order.end(),
                      [&points](size_t a, size_t b) {
                          return points[a].delta_bytes != points[b].delta_bytes
                                     ? points[a].delta_bytes > points[b].delta_bytes
                                     : a < b;
                      });
    order.resize(shown);
    return order;
}

}  // namespace

std::string ops_text(const CallsReport& report) {
    using enum Align;
    const OperatorSeries series =
        build_operator_series(report.result, report.rules, report.phases.table);
    TextColumns columns({kRight, kRight, kRight, kRight, kRight, kRight, kLeft},
                        {"Added", "Allocated", "Active", "Reserved", "Index", "Step", "Operator"});
    for (const size_t i : largest(series.points, report.top)) {
        const OperatorPoint& point = series.points[i];
        columns.add({format_bytes(point.delta_bytes),
                     format_bytes(point.call->after.allocated_bytes),
                     format_bytes(point.call->after.active_bytes),
                     reserved_text(report, point.call->after.reserved_bytes),
                     std::to_string(i),
                     optional_step_text(point.step),
                     printable(point_name(point, report.rules))});
    }
    return calls_head_text(report) + format_count(series.points.size()) +
           " operator calls allocated; those after which most was added (--json: all, in "
           "order):\n" +
           columns.text() + health_text(report.phases.health);
}

std::string ops_json(const CallsReport& report) {
    const OperatorSeries series =
        build_operator_series(report.result, report.rules, report.phases.table);
    const size_t count = series.points.size();
    const uint64_t shown = shown_count(report.top, count);
    JsonWriter json;
    put_calls_head(json, report);
    json.field("row_count", static_cast<uint64_t>(count)).key("ops").begin_array();
    for (size_t i = 0; i < shown; ++i) {
        put_point(json, report, series.points[i], i);
    }
    json.end_array();
    put_markers(json, series.markers);
    put_health(json, report.reader, report.phases.health);
    return json.end_object().take();
}

}  // namespace peakline::report
