// `tensors`: every block that is live at a moment.
#include "tensors_report.h"

#include <algorithm>
#include <utility>

#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/tensor_type.h"
#include "report/render/format/text_columns.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

void put_stack(JsonWriter& json, const char* key, const std::vector<Location>& stack) {
    json.key(key).begin_array();
    for (const Location& location : stack) {
        put_location(json, location);
    }
    json.end_array();
}

void put_row(JsonWriter& json, const TensorsReport& report, const TensorRow& row) {
    const BlockFacts& facts = row.block.facts;
    const bool is_freed = facts.free_event != kNeverFreed;
    json.begin_object().field("bytes", row.bytes);
    json.field("requested_bytes", row.block.block.requested_bytes);
    json.field("block_bytes", row.block.block.block_bytes);
    put_device(json, row.block.block.device).field("address", facts.address);
    json.text_or_null("name", row.name);
    put_tensor_type(json, report.reader.definitions(), row.type);
    json.field("category", row.category).field("module", row.module);
    json.field("op", row.operation).field("phase", row.phase).field("step", row.step);
    json.field("lifetime", row.lifetime);
    json.field("allocated_seconds", report.reader.seconds(facts.alloc_tick)).key("freed_seconds");
    is_freed ? json.value(report.reader.seconds(facts.free_tick)) : json.null();
    const BlockHolder* const holder = report.holder_of(row);
    json.text_or_null("held_by", holder != nullptr ? holder->text : std::string());
    json.field("made_at", label_text(report.paths, row.made_at));
    json.field("freed_by", label_text(report.paths, row.freed_by));
    put_stack(json, "create_stack", row.create_stack);
    if (row.release_stack.empty()) {
        json.key("release_stack").null();
    } else {
        put_stack(json, "release_stack", row.release_stack);
    }
    json.end_object();
}

struct Column {
    const char* head;
    Align align;
    std::string (*cell)(const TensorsReport& report, const TensorRow& row);
};
using Cell = decltype(Column::cell);

constexpr Cell kHeldBy = [](const TensorsReport& report, const TensorRow& row) {
    const BlockHolder* const holder = report.holder_of(row);
    return holder != nullptr ? printable(holder->text) : std::string();
};
constexpr Cell kTensorType = [](const TensorsReport& report, const TensorRow& row) {
    return tensor_type_text(report.reader.definitions(), row.type);
};

std::vector<Column> columns_of(const TensorsReport& report, uint64_t shown) {
    constexpr size_t kNarrow = 100;  // as many columns have room for every text there is
    const auto has_any = [&](Cell cell) {
        const auto begin = report.list.rows.begin();
        return std::any_of(begin, begin + static_cast<int64_t>(shown), [&](const TensorRow& row) {
            return !cell(report, row).empty();
        });
    };
    const bool has_holders = has_any(kHeldBy);
    const bool has_types = has_any(kTensorType);
    // What the type takes on a narrow terminal, columns give that others nearly say.
    const bool is_crowded = has_types && report.paths.width != 0 && report.paths.width < kNarrow;
    std::vector<Column> columns = {
        {"Mem",
         Align::kRight,
         [](const auto&, const auto& row) { return format_bytes(row.bytes); }},
        {"What", Align::kLeft, [](const auto&, const auto& row) {
             return printable(row.name.empty() ? row.category : row.name);
         }}};
    if (has_types) {
        columns.push_back({"Tensor", Align::kLeftWhole, kTensorType});
    }
    if (has_holders) {
        columns.push_back({"Held by", Align::kLeft, kHeldBy});
    }
    if (!is_crowded) {
        columns.push_back({"Module", Align::kLeft, [](const auto&, const auto& row) {
                               return printable(row.module);
                           }});
    }
    columns.push_back({"Made at", Align::kLeft, [](const auto& asked, const auto& row) {
                           return printable(label_text(asked.paths, row.made_at));
                       }});
    if (!is_crowded) {
        columns.push_back({"Freed by", Align::kLeft, [](const auto& asked, const auto& row) {
                               return printable(label_text(asked.paths, row.freed_by));
                           }});
    }
    return columns;
}

std::string rows_text(const TensorsReport& report, uint64_t shown) {
    const std::vector<Column> columns = columns_of(report, shown);
    std::vector<Align> aligns;
    std::vector<std::string> heads;
    for (const Column& column : columns) {
        aligns.push_back(column.align);
        heads.emplace_back(column.head);
    }
    TextColumns text(std::move(aligns), std::move(heads));
    for (size_t i = 0; i < shown; ++i) {
        std::vector<std::string> cells;
        cells.reserve(columns.size());
        for (const Column& column : columns) {
            cells.push_back(column.cell(report, report.list.rows[i]));
        }
        text.add(std::move(cells));
    }
    return text.text({}, report.paths.width);
}

}  // namespace

std::string tensors_text(const TensorsReport& report) {
    const auto& rows = report.list.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    std::string text = head_text(report.reader);
    text +=
        (report.selection.during.empty() ? "Live at " : "Live at some time during ") +
        printable(moment_text(report.selection.request.moment)) + ": " +
        format_bytes(report.list.total_bytes) + " in " +
        format_count(rows.size() + report.list.hidden_count + report.result.blocks.left_out_count) +
        " blocks\n" + where_text(report.selection, report.part) + rows_text(report, shown);
    if (shown < rows.size()) {
        text += "... " + std::to_string(rows.size() - shown) + " more blocks (--top 0)\n";
    }
    if (report.list.hidden_count != 0) {
        text += format_count(report.list.hidden_count) + " smaller blocks not shown, " +
                format_bytes(report.list.hidden_bytes) + "\n";
    }
    return text + frees_text(report.reader) + health_text(report.result.health);
}

std::string tensors_json(const TensorsReport& report) {
    const auto& rows = report.list.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    JsonWriter json;
    json.begin_object().field("schema_version", 1).field("file", report.reader.name());
    put_device(json, report.result.chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    put_moment(json, report.selection);
    json.field("peak_bytes", report.result.chosen.peak_bytes);
    json.field("total_bytes", report.list.total_bytes);
    put_where(json, report.selection, report.part);
    json.field("row_count", static_cast<uint64_t>(rows.size()));
    json.field("hidden_count", report.list.hidden_count);
    json.field("hidden_bytes", report.list.hidden_bytes).key("tensors").begin_array();
    for (size_t i = 0; i < shown; ++i) {
        put_row(json, report, rows[i]);
    }
    json.end_array();
    put_health(json, report.reader, report.result.health);
    return json.end_object().take();
}

}  // namespace peakline::report
