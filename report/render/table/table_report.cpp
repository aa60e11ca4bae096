#include "table_report.h"

#include <algorithm>
#include <cctype>

#include "report/attribute/keys/cause.h"
#include "report/render/facts/coverage.h"
#include "report/render/facts/value_reads.h"
#include "report/render/format/device_json.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "run_facts.h"
#include "stack_tree.h"

namespace peakline::report {
namespace {

// The index of the row key that is a stack.
std::optional<size_t> key_of_stacks(const Selection& selection) {
    const auto& keys = selection.row_keys;
    const auto found = std::find_if(keys.begin(), keys.end(), [](const std::string& key) {
        return key == "stack" || key == "node-stack";
    });
    return found == keys.end() ? std::nullopt
                               : std::optional(static_cast<size_t>(found - keys.begin()));
}

void put_row(DocumentTable& table, const TableReport& report, const TableRow& row) {
    JsonWriter& json = table.begin({bytes_cell(row.bytes),
                                    percent_cell(row.share),
                                    bytes_cell(row.cumulative_bytes),
                                    bytes_cell(row.median_bytes),
                                    cell(row.count),
                                    line_cell(report.paths, row.labels, row.via, row.callers)});
    json.field("backward_bytes", row.backward_bytes).field("share", row.share);
    put_keys(json, report.paths, row.labels);
    put_location_of(json, report.paths, row.labels);
    put_parts(json, "via", row.via);
    put_parts(json, "callers", row.callers);
    if (const std::optional<size_t> key = key_of_stacks(report.selection)) {
        json.key("stack").begin_array();
        for (const Location& location : row.labels[*key].frames) {
            put_location(json, report.paths, location);
        }
        json.end_array();
    }
    table.set_share(row.share);
    table.end();
}

void put_outside(JsonWriter& json, const TableReport& report) {
    json.key("outside");
    if (!report.outside) {
        json.null();
        return;
    }
    json.begin_object().field("bytes", report.outside->bytes).key("parts").begin_array();
    for (const OutsidePart& part : report.outside->parts) {
        json.begin_object().field("name", printable(part.name));
        json.field("bytes", part.bytes).end_object();
    }
    json.end_array().end_object();
}

void put_pinned(JsonWriter& json, const TableReport& report) {
    json.key("pinned");
    if (!report.pinned) {
        json.null();
        return;
    }
    json.begin_object().field("given_bytes", report.pinned->given_bytes);
    json.field("least_asked_bytes", report.pinned->least_asked_bytes);
    json.field("most_asked_bytes", report.pinned->most_asked_bytes).end_object();
}

void put_compiling(JsonWriter& json, const TableReport& report) {
    json.key("compiling");
    if (!report.compiling) {
        json.null();
        return;
    }
    json.begin_object().field("peak_without_bytes", report.compiling->peak_without_bytes);
    json.key("parts").begin_array();
    for (const CompilingAtPeak::Part& part : report.compiling->parts) {
        json.begin_object().field("phase", part.phase).field("bytes", part.bytes).end_object();
    }
    json.end_array().end_object();
}

void put_devices(JsonWriter& json, const TableReport& report) {
    json.key("devices").begin_array();
    for (const DeviceTotals& device : report.result.devices) {
        put_device(json.begin_object(), device.device);
        json.field("peak_bytes", device.peak_bytes);
        json.field("peak_seconds", report.reader.seconds(device.peak_tick));
        json.field("total_allocated_bytes", device.total_allocated_bytes).end_object();
    }
    json.end_array();
}

}  // namespace

void put_shared(JsonWriter& json, const std::vector<LedgerPart>& shared) {
    json.key("shared").begin_array();
    for (const LedgerPart& part : shared) {
        json.begin_object().field("name", printable(part.name)).field("bytes", part.bytes);
        json.field("kind", part_kind_name(part.kind)).field("count", part.count).end_object();
    }
    json.end_array();
}

void put_location(JsonWriter& json, const PathDisplay& paths, const Location& location) {
    json.begin_object().field("file", location.file).key("line");
    location.line != 0 ? json.value(location.line) : json.null();
    json.key("function");
    location.function.empty() ? json.null() : json.value(location.function);
    json.key("qualified_name");
    location.qualified_name.empty() ? json.null() : json.value(location.qualified_name);
    json.text_or_null("code", printable(code_at(paths, location)));
    json.field("native", location.is_native).end_object();
}

void put_location_of(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels) {
    json.key("location");
    const Location* const location = location_of_labels(labels);
    if (location != nullptr && std::ranges::none_of(labels, is_cause)) {
        put_location(json, paths, *location);
    } else {
        json.null();
    }
}

void put_out_of_memory(JsonWriter& json, const TableReport& report) {
    const OutOfMemory& facts = report.out_of_memory.facts;
    json.key("out_of_memory");
    if (facts.count == 0) {
        json.null();
        return;
    }
    json.begin_object().field("count", facts.count);
    json.field("seconds", report.reader.seconds(facts.tick)).field("device", facts.device);
    json.field("requested_bytes", facts.requested_bytes).field("free_bytes", facts.free_bytes);
    json.field("key", label_text(report.paths, report.out_of_memory.line)).key("location");
    const auto& frames = report.out_of_memory.line.frames;
    if (frames.empty()) {
        json.null();
    } else {
        put_location(json, report.paths, frames.front());
    }
    json.end_object();
}

void put_parts(JsonWriter& json, const char* name, const std::vector<ViaPart>& parts) {
    json.key(name).begin_array();
    for (const ViaPart& part : parts) {
        json.begin_object().key("name");
        part.name.empty() ? json.null() : json.value(part.name);
        json.field("bytes", part.bytes).field("count", part.count).end_object();
    }
    json.end_array();
}

void put_keys(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels) {
    json.key("keys").begin_array();
    for (const Label& label : labels) {
        json.value(label_text(paths, label));
    }
    json.end_array();
}

void put_health(JsonWriter& json, const TraceReader& reader, const TraceHealth& health) {
    json.field("records_dropped", health.records_dropped);
    json.field("bytes_dropped", health.bytes_dropped);
    json.field("complete", health.complete()).field("problems", health.problems.texts());
    put_simulated(json, reader);
    put_lines_missing(json, reader);
}

void put_health(Document& document, const TraceReader& reader, const TraceHealth& health) {
    if (!document.is_for_people()) {
        put_health(document.fields(), reader, health);
    }
    document.say_lines(health_text(health), Tone::kWarning);
}

void put_coverage_and_health(Document& document,
                             const TraceReader& reader,
                             const TraceHealth& health) {
    document.say_lines(coverage_text(reader));
    put_coverage(document.fields(), reader);
    put_health(document, reader, health);
}

std::string head_of_keys(const std::vector<std::string>& keys) {
    std::string text;
    for (const std::string& key : keys) {
        text += (text.empty() ? "" : ", ") + key;
    }
    std::replace(text.begin(), text.end(), '-', ' ');
    if (!text.empty()) {
        text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    }
    return text;
}

void put_rows(Document& document, const TableReport& report, std::vector<Column> columns) {
    const auto& rows = report.table.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    const bool has_literal_form = columns.front().is_literal;
    DocumentTable table(document, "rows", std::move(columns));
    for (size_t i = 0; i < shown; ++i) {
        put_row(table, report, rows[i]);
    }
    table.leave_out(rows.size() - shown, rows.size() - shown == 1 ? "more row" : "more rows");
    table.set_literal(has_literal_form ? "Mem, Cumulative Mem, Median, Count, Location" : "");
    const std::optional<size_t> stacks = key_of_stacks(report.selection);
    if (document.is_for_people() && stacks.has_value()) {
        table.set_tree(stack_trees_json(report, *stacks));
    }
}

namespace {

// Fields about the run, after the rows.
void put_run_fields(JsonWriter& json, const TableReport& report) {
    json.field("stacks", report.reader.definitions().meta_text("stacks"));
    json.field("unmatched_modules", report.unmatched_module_count);
    put_devices(json, report);
    put_health(json, report.reader, report.result.health);
    const Definitions& definitions = report.reader.definitions();
    for (const char* name : {"stopped_waiting_at", "ended_after_steps", "recorded_steps"}) {
        json.text_or_null(name, definitions.meta_text(name));
    }
    put_out_of_memory(json, report);
    put_value_reads(json.key("value_reads"), report.value_reads, report.paths);
    put_coverage(json, report.reader);
}

}  // namespace

void put_table(Document& document, const TableReport& report) {
    const Selection& selection = report.selection;
    const DeviceTotals& chosen = report.result.chosen;
    JsonWriter& json = document.fields().field("schema_version", 1);
    json.field("file", report.reader.name()).field("peak_bytes", chosen.peak_bytes);
    json.field("peak_seconds", report.reader.seconds(chosen.peak_tick));
    json.field("total_allocated_bytes", chosen.total_allocated_bytes);
    put_device(json, chosen.device, scope_of(report.result.is_sum));
    json.field("measure", measure_name(selection));
    put_moment(json, selection);
    json.field("by", selection.by);
    json.field("frame", frame_choice_name(selection.frames.choice));
    json.field("total_bytes", report.table.total_bytes);
    put_where(json, selection, report.part);
    put_outside(json, report);
    put_shared(json, report.shared);
    put_pinned(json, report);
    put_compiling(json, report);
    json.field("untraced_bytes", report.table.untraced_bytes);
    json.field("row_count", static_cast<uint64_t>(report.table.rows.size()));
    put_head(document, report);
    document.show_facts(table_facts(report), false);
    document.say_lines(where_text(selection, report.part));
    document.show_gap();
    put_rows(document,
             report,
             {{"bytes", "Held", Align::kRight, true, 0, true},
              {nullptr, "%"},
              {"cumulative_bytes", "Running\ntotal", Align::kRight, true, 2, true},
              {"median_bytes", "Typical\nblock", Align::kRight, true, 1, true},
              {"count", "Blocks", Align::kRight, true, 3, true},
              {"key", head_of_keys(selection.row_keys), Align::kLeft, true, 0, true}});
    document.show_gap();
    put_table_notes(document, report);
    if (!document.is_for_people()) {
        put_run_fields(document.fields(), report);
    }
}

}  // namespace peakline::report
