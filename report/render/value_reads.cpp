#include "value_reads.h"

#include <algorithm>

#include "format_bytes.h"

namespace peakline::report {
namespace {

constexpr size_t kRowsShown = 8;

const char* effect_name(ValueEffect effect) {
    switch (effect) {
        case ValueEffect::kSize:
            return "size";
        case ValueEffect::kNumber:
            return "number";
        case ValueEffect::kCopy:
            return "copy";
        case ValueEffect::kPrinted:
            break;
    }
    return "printed";
}

const char* effect_text(ValueEffect effect) {
    switch (effect) {
        case ValueEffect::kSize:
            return "a size: tensors made of it have the wrong size";
        case ValueEffect::kNumber:
            return "a number: what the program decides by it may be wrong";
        case ValueEffect::kCopy:
            return "copied to the host: sizes computed from it may be wrong";
        case ValueEffect::kPrinted:
            break;
    }
    return "only printed";
}

std::string row_text(const ValueReadRow& row, const PathDisplay& paths) {
    const char* const effect = row.is_assumed ? "assumed, as you said" : effect_text(row.effect);
    return "  " + printable(label_text(paths, row.label)) + "  " +
           (row.operation.empty() ? std::string("cudaMemcpy") : printable(row.operation)) + "  " +
           format_count(row.count) + (row.count == 1 ? " time" : " times") + "  " + effect + "\n";
}

}  // namespace

std::string value_reads_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths) {
    if (reads.empty()) {
        return {};
    }
    std::string text =
        "\nValues read that do not exist on a simulated device (taken as zero; --assume "
        "FILE:LINE=VALUE gives yours):\n";
    const size_t shown = std::min(reads.size(), kRowsShown);
    for (size_t i = 0; i < shown; ++i) {
        text += row_text(reads[i], paths);
    }
    if (shown < reads.size()) {
        text += "  ... " + format_count(reads.size() - shown) + " more in --json\n";
    }
    return text;
}

void put_value_reads(JsonWriter& json,
                     const std::vector<ValueReadRow>& reads,
                     const PathDisplay& paths) {
    json.begin_array();
    for (const ValueReadRow& row : reads) {
        json.begin_object().field("key", label_text(paths, row.label));
        json.key("location");
        if (row.label.frames.empty()) {
            json.null();
        } else {
            const Location& location = row.label.frames.front();
            json.begin_object().field("file", location.file).field("line", location.line);
            json.field("function", location.function).end_object();
        }
        json.field("operator", row.operation).field("effect", effect_name(row.effect));
        json.field("assumed", row.is_assumed);
        json.field("count", row.count).field("bytes", row.bytes).end_object();
    }
    json.end_array();
}

}  // namespace peakline::report
