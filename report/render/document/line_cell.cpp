#include <algorithm>

#include "cells.h"
#include "report/render/format/printable.h"
#include "report/symbols/frame_names.h"

namespace peakline::report {
namespace {

bool is_one_line(const Label& label) {
    return label.frames.size() == 1 && !label.frames.front().is_native;
}

std::string before_line(const Label& label) {
    return label.name.empty() ? label.prefix : label.name + " <- ";
}

// The field `line`: null unless one of the row's keys is one Python line. Keys before that one are
// in `before`; keys after it follow the function.
void put_line(JsonWriter& json, const PathDisplay& paths, const std::vector<Label>& labels) {
    const auto line = std::find_if(labels.begin(), labels.end(), is_one_line);
    json.key("line");
    if (line == labels.end()) {
        json.null();
        return;
    }
    const std::vector<Label> before(labels.begin(), line);
    const std::vector<Label> after(line + 1, labels.end());
    const Location& location = line->frames.front();
    json.begin_object().field(
        "before",
        printable((before.empty() ? "" : label_text(paths, before) + " | ") + before_line(*line)));
    json.field("path", printable(display_path(paths, location.file)));
    json.field("number", location.line);
    json.field(
        "function",
        printable(location.function + (after.empty() ? "" : " | " + label_text(paths, after))));
    json.field("code", printable(code_at(paths, location)));
    json.field("is_changed", is_changed_since(paths, location)).end_object();
}

}  // namespace

Cell line_cell(const PathDisplay& paths,
               const std::vector<Label>& labels,
               const std::vector<ViaPart>& via,
               const std::vector<ViaPart>& callers) {
    Cell made = cell(label_text(paths, labels));
    JsonWriter json;
    json.begin_object().field("text", printable(std::get<std::string>(made.value)));
    put_line(json, paths, labels);
    const bool has_via = !via.empty() && !via.front().name.empty();
    json.field("via", has_via ? printable(via.front().name) : std::string());
    json.field("more_via", has_via ? uint64_t{via.size() - 1} : uint64_t{0});
    const bool has_caller = !callers.empty() && !callers.front().name.empty();
    json.field("caller", has_caller ? printable(file_name_of(callers.front().name)) : "");
    json.field("more_callers", has_caller ? uint64_t{callers.size() - 1} : uint64_t{0});
    made.parts = json.end_object().take();
    return made;
}

Cell lines_cell(const std::vector<CellLine>& lines) {
    JsonWriter json;
    json.begin_object().key("lines").begin_array();
    for (const CellLine& line : lines) {
        json.begin_object().field("text", printable(line.text));
        json.field("is_whole", line.is_whole).end_object();
    }
    Cell made;
    made.parts = json.end_array().end_object().take();
    return made;
}

}  // namespace peakline::report
