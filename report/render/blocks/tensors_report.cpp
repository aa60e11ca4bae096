#include "tensors_report.h"

#include <algorithm>

#include "report/render/format/device_json.h"
#include "report/render/format/shown_count.h"
#include "report/render/format/tensor_type.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

// An empty stack becomes null if it `may_be_unknown`.
void put_stack(JsonWriter& json,
               const PathDisplay& paths,
               const char* key,
               const std::vector<Location>& stack,
               bool may_be_unknown) {
    json.key(key);
    if (may_be_unknown && stack.empty()) {
        json.null();
        return;
    }
    json.begin_array();
    for (const Location& location : stack) {
        put_location(json, paths, location);
    }
    json.end_array();
}

// Writes fields of the open row.
void put_facts(JsonWriter& json, const TensorsReport& report, const TensorRow& row) {
    const BlockFacts& facts = row.block.facts;
    json.field("requested_bytes", row.block.block.requested_bytes);
    json.field("block_bytes", row.block.block.block_bytes);
    put_device(json, row.block.block.device).field("address", facts.address);
    json.text_or_null("name", row.name);
    put_tensor_type(json, report.reader.definitions(), row.type);
    json.field("category", row.category);
    json.field("op", row.operation).field("phase", row.phase).field("step", row.step);
    json.field("lifetime", row.lifetime);
    const auto put_time = [&](const char* key, bool is_known, uint64_t tick) {
        json.key(key);
        is_known ? json.value(report.reader.seconds(tick)) : json.null();
    };
    put_time("allocated_seconds", true, facts.alloc_tick);
    put_time("saved_seconds", facts.saved_context != 0, facts.saved_tick);
    put_time("freed_seconds", facts.free_event != kNeverFreed, facts.free_tick);
    put_stack(json, report.paths, "create_stack", row.create_stack, false);
    put_stack(json, report.paths, "save_stack", row.save_stack, true);
    put_stack(json, report.paths, "release_stack", row.release_stack, true);
}

std::string holder_text(const TensorsReport& report, const TensorRow& row) {
    const BlockHolder* const holder = report.holder_of(row);
    return holder != nullptr ? holder->text : std::string();
}

std::string saver_text(const TensorsReport& report, const TensorRow& row) {
    return label_text(report.paths, row.saved_by);
}

std::string type_text(const TensorsReport& report, const TensorRow& row) {
    return tensor_type_text(report.reader.definitions(), row.type);
}

// Shows types and holders only if one is known. In a narrow terminal types displace the module and
// the freeing line, which other columns nearly repeat.
std::vector<Column> columns_of(const TensorsReport& report, uint64_t shown) {
    const auto has_any = [&](std::string (*text)(const TensorsReport&, const TensorRow&)) {
        const auto begin = report.list.rows.begin();
        return std::any_of(begin, begin + static_cast<int64_t>(shown), [&](const TensorRow& row) {
            return !text(report, row).empty();
        });
    };
    const bool has_types = has_any(type_text);
    const int spare = has_types ? 1 : 0;
    return {{"bytes", "Mem"},
            {nullptr, "What", Align::kLeft},
            {nullptr, "Tensor", Align::kLeftWhole, has_types},
            {"held_by", "Held by", Align::kLeft, has_any(holder_text)},
            {"module", "Module", Align::kLeft, true, spare},
            {"made_at", "Made at", Align::kLeft},
            {"saved_by", "Saved by", Align::kLeft, has_any(saver_text)},
            {"freed_by", "Freed by", Align::kLeft, true, spare}};
}

void put_rows(Document& document, const TensorsReport& report) {
    const auto& rows = report.list.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    DocumentTable table(document, "tensors", columns_of(report, shown));
    for (size_t i = 0; i < shown; ++i) {
        const TensorRow& row = rows[i];
        const std::string holder = holder_text(report, row);
        put_facts(table.begin({bytes_cell(row.bytes),
                               cell(row.name.empty() ? row.category : row.name),
                               cell(type_text(report, row)),
                               holder.empty() ? no_cell().shown_as("") : cell(holder),
                               cell(row.module),
                               line_cell(report.paths, {row.made_at}),
                               row.saved_by.key.empty() ? no_cell().shown_as("")
                                                        : line_cell(report.paths, {row.saved_by}),
                               line_cell(report.paths, {row.freed_by})}),
                  report,
                  row);
        table.end();
    }
    table.leave_out(rows.size() - shown, "more blocks");
}

}  // namespace

void put_tensors(Document& document, const TensorsReport& report) {
    const auto& rows = report.list.rows;
    const TensorList& list = report.list;
    JsonWriter& json = document.fields().field("schema_version", 1);
    json.field("file", report.reader.name());
    put_device(json, report.result.chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(report.selection.request.measure));
    put_moment(json, report.selection);
    json.field("peak_bytes", report.result.chosen.peak_bytes);
    json.field("total_bytes", list.total_bytes);
    put_where(json, report.selection, report.part);
    json.field("row_count", static_cast<uint64_t>(rows.size()));
    json.field("hidden_count", list.hidden_count).field("hidden_bytes", list.hidden_bytes);
    document.say_lines(head_text(report.reader));
    document.say(
        (report.selection.during.empty() ? "Live at " : "Live at some time during ") +
        moment_text(report.selection.request.moment) + ": " + format_bytes(list.total_bytes) +
        " in " +
        format_count(rows.size() + list.hidden_count + report.result.blocks.left_out_count) +
        " blocks");
    document.say_lines(where_text(report.selection, report.part));
    put_rows(document, report);
    if (list.hidden_count != 0) {
        document.say(format_count(list.hidden_count) + " smaller blocks not shown, " +
                     format_bytes(list.hidden_bytes));
    }
    document.say_lines(frees_text(report.reader));
    put_health(document, report.reader, report.result.health);
}

}  // namespace peakline::report
