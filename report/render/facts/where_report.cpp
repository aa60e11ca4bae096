#include "where_report.h"

#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"

namespace peakline::report {
namespace {

std::string joined(const std::vector<std::string>& texts, const char* between) {
    std::string all;
    for (const std::string& text : texts) {
        all += (all.empty() ? "" : between) + printable(text);
    }
    return all;
}

}  // namespace

std::string condition_text(const Selection& selection) {
    std::string text;
    for (const WhereKey& where : selection.where) {
        text += (text.empty() ? "" : ", ") + where.key + "=" + joined(where.values, " or ");
    }
    return text;
}

std::string unmatched_where_text(const ShownPart& part) {
    std::string text;
    for (const UnmatchedValue& value : part.unmatched) {
        text += "No block has " + value.key + "=" + printable(value.value);
        text += value.nearest.empty() ? "\n" : "; nearest: " + joined(value.nearest, ", ") + "\n";
    }
    if (part.shown_bytes == 0 && part.unmatched.empty()) {
        text += "No block has all of these\n";
    }
    return text;
}

std::string where_text(const Selection& selection, const ShownPart& part) {
    if (selection.where.empty()) {
        return {};
    }
    return "Shown: where " + condition_text(selection) + ", " + format_bytes(part.shown_bytes) +
           " of " + format_bytes(part.total_bytes) + "\n" + unmatched_where_text(part);
}

void put_where(JsonWriter& json, const Selection& selection, const ShownPart& part) {
    json.key("where").begin_array();
    for (const WhereKey& where : selection.where) {
        json.begin_object().field("key", where.key).field("values", where.values).end_object();
    }
    json.end_array().field("where_bytes", part.shown_bytes).key("where_unmatched").begin_array();
    for (const UnmatchedValue& value : part.unmatched) {
        json.begin_object().field("key", value.key).field("value", value.value);
        json.field("nearest", value.nearest).end_object();
    }
    json.end_array();
}

TextsOfLabel texts_of_labels(const PathDisplay& paths) {
    PathDisplay full = paths;
    full.full_paths = true;
    return [paths, full](const Label& label) {
        return std::vector<std::string>{label_text(paths, label), label_text(full, label)};
    };
}

}  // namespace peakline::report
