#include "report_parts.h"

#include <algorithm>
#include <optional>

#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "summary_report.h"

namespace peakline::report {
namespace {

void put_notes(JsonWriter& json, std::string_view name, const std::vector<Note>& notes) {
    json.key(name).begin_array();
    for (const Note& note : notes) {
        if (!note.text.empty()) {
            json.begin_object().field("text", note.text);
            json.field("is_warning", note.is_warning).end_object();
        }
    }
    json.end_array();
}

void put_facts(JsonWriter& json, const std::vector<Fact>& facts) {
    json.key("facts").begin_array();
    for (const Fact& fact : facts) {
        json.begin_object().field("name", fact.name);
        json.field("value", printable(fact.value)).end_object();
    }
    json.end_array();
}

bool is_one_line(const Label& label) {
    return label.frames.size() == 1 && !label.frames.front().is_native;
}

std::string before_line(const Label& label) {
    return label.name.empty() ? label.prefix : label.name + " <- ";
}

// A row of one Python line in its pieces, for who shortens some of them; null for other rows. Other
// keys of the row stand before the line, or after its function.
void put_line(JsonWriter& json, const TableReport& report, const std::vector<Label>& labels) {
    const auto line = std::find_if(labels.begin(), labels.end(), is_one_line);
    json.key("line");
    if (line == labels.end()) {
        json.null();
        return;
    }
    std::vector<Label> before(labels.begin(), line);
    std::vector<Label> after(line + 1, labels.end());
    const Location& location = line->frames.front();
    json.begin_object().field(
        "before",
        printable((before.empty() ? "" : label_text(report.paths, before) + " | ") +
                  before_line(*line)));
    json.field("path", printable(display_path(report.paths, location.file)));
    json.field("number", location.line);
    json.field("function",
               printable(location.function +
                         (after.empty() ? "" : " | " + label_text(report.paths, after))));
    json.end_object();
}

void put_rows(JsonWriter& json, const TableReport& report) {
    json.key("rows").begin_array();
    const auto& rows = report.table.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const TableRow& row = rows[i];
        json.begin_object().field("held", format_bytes(row.bytes));
        json.field("share", row.share).field("percent", format_percent(row.share));
        json.field("running_total", format_bytes(row.cumulative_bytes));
        json.field("typical_block", format_bytes(row.median_bytes));
        json.field("blocks", format_count(row.count));
        json.field("text", printable(label_text(report.paths, row.labels)));
        put_line(json, report, row.labels);
        const bool has_via = !row.via.empty() && !row.via.front().name.empty();
        json.field("via", has_via ? printable(row.via.front().name) : std::string());
        json.field("more_via", has_via ? uint64_t{row.via.size() - 1} : uint64_t{0}).end_object();
    }
    json.end_array();
    json.field("left_out", static_cast<uint64_t>(rows.size() - shown));
}

// Which key of the rows is a stack.
std::optional<size_t> key_of_stacks(const Selection& selection) {
    const auto& keys = selection.row_keys;
    const auto found = std::find_if(keys.begin(), keys.end(), [](const std::string& key) {
        return key == "stack" || key == "node-stack";
    });
    return found == keys.end() ? std::nullopt
                               : std::optional(static_cast<size_t>(found - keys.begin()));
}

void put_table(JsonWriter& json, const TableReport& report) {
    json.field("by", report.selection.by);
    put_rows(json, report);
    json.key("tree");
    const std::optional<size_t> stacks = key_of_stacks(report.selection);
    stacks.has_value() ? put_stack_trees(json, report, *stacks) : static_cast<void>(json.null());
}

}  // namespace

std::string table_parts(const TableReport& report) {
    JsonWriter json;
    json.begin_object();
    put_notes(json, "head", head_notes(report));
    put_facts(json, table_facts(report));
    put_notes(json, "selected", {{where_text(report.selection, report.part)}});
    json.field("title", "");
    put_table(json, report);
    put_notes(json, "notes", table_notes(report));
    return json.end_object().take();
}

std::string summary_parts(const TableReport& report) {
    JsonWriter json;
    json.begin_object();
    put_notes(json, "head", head_notes(report));
    put_facts(json, summary_facts(report));
    put_notes(json, "selected", {{where_text(report.selection, report.part)}});
    json.field("title", summary_title(report));
    put_table(json, report);
    put_notes(json, "notes", summary_notes(report));
    return json.end_object().take();
}

}  // namespace peakline::report
