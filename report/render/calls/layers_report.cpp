// `layers`: what every module holds, and the peaks while it runs.
#include "calls_report.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/path_display.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

double milliseconds(const CallsReport& report, uint64_t ticks) {
    return report.reader.seconds(ticks) * 1e3;
}

// Four digits, "-" where the trace does not show it.
std::string unused_text(const std::optional<double>& fragmentation) {
    return fragmentation.has_value() ? format_share(*fragmentation) : "-";
}

void put_layer(JsonWriter& json, const CallsReport& report, const LayerRow& row) {
    json.begin_object().field("layer_name", row.name);
    json.field("peak_allocated", row.use.peak_allocated_bytes);
    put_reserved(json, report, "peak_reserved", row.use.peak_reserved_bytes);
    json.field("total_allocations", row.use.alloc_count);
    json.field("total_deallocations", row.use.free_count).key("avg_fragmentation");
    row.fragmentation.has_value() ? json.value(*row.fragmentation) : json.null();
    json.field("duration_ms", milliseconds(report, row.use.ticks));
    json.field("peak_held_bytes", row.use.peak_held_bytes);
    json.field("held_bytes", row.use.held_bytes);
    json.field("allocated_bytes", row.use.allocated_bytes);
    json.field("backward_bytes", row.use.backward_bytes);
    json.field("call_count", row.use.call_count).end_object();
}

}  // namespace

std::string layers_text(const CallsReport& report) {
    using enum Align;
    const std::vector<LayerRow> rows = build_layers(report.result, report.rules);
    const uint64_t shown = shown_count(report.top, rows.size());
    TextColumns columns(
        {kRight, kRight, kRight, kRight, kRight, kRight, kRight, kLeft},
        {"Held", "At the end", "Peak while", "Reserved", "Unused", "Allocs", "Frees", "Layer"});
    for (size_t i = 0; i < shown; ++i) {
        const LayerUse& use = rows[i].use;
        const bool runs = use.peak_allocated_bytes != 0;
        columns.add({format_bytes(use.peak_held_bytes),
                     format_bytes(use.held_bytes),
                     runs ? format_bytes(use.peak_allocated_bytes) : "-",
                     runs ? reserved_text(report, use.peak_reserved_bytes) : "-",
                     unused_text(rows[i].fragmentation),
                     format_count(use.alloc_count),
                     format_count(use.free_count),
                     rows[i].name});
    }
    std::string text = calls_head_text(report);
    if (rows.empty()) {
        text += "No modules in this trace: its stacks name none (record Python stacks).\n";
    } else {
        text +=
            "Held = most memory this layer and its children had at once. Peak while = level of"
            " the device while it ran\n"
            "Unused = share of the reserved memory that no live block has, on average while it"
            " ran\n" +
            columns.text({}, report.width);
    }
    if (shown < rows.size()) {
        text += "... " + std::to_string(rows.size() - shown) + " more layers (--top 0)\n";
    }
    return text + health_text(report.phases.health);
}

std::string layers_json(const CallsReport& report) {
    const std::vector<LayerRow> rows = build_layers(report.result, report.rules);
    const uint64_t shown = shown_count(report.top, rows.size());
    JsonWriter json;
    put_calls_head(json, report);
    json.field("row_count", static_cast<uint64_t>(rows.size())).key("layers").begin_array();
    for (size_t i = 0; i < shown; ++i) {
        put_layer(json, report, rows[i]);
    }
    json.end_array();
    put_health(json, report.reader, report.phases.health);
    return json.end_object().take();
}

}  // namespace peakline::report
