#include "value_reads.h"

#include <algorithm>

#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"

namespace peakline::report {
namespace {

constexpr size_t kRowsShown = 8;
constexpr size_t kHarmlessRowsNamed = 2;

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

std::string line_text(const ValueReadRow& row, const PathDisplay& paths) {
    std::string text = printable(label_text(paths, row.label));
    if (row.library.line != 0) {
        Label below;
        below.frames = {row.library};
        text += ", in " + printable(label_text(paths, below));
    }
    return text;
}

std::string row_text(const ValueReadRow& row, const PathDisplay& paths) {
    const char* const effect = row.is_assumed ? "set by --assume" : effect_text(row.effect);
    return "  " + line_text(row, paths) + "  " +
           (row.operation.empty() ? std::string("cudaMemcpy") : printable(row.operation)) + "  " +
           format_count(row.count) + (row.count == 1 ? " time" : " times") + "  " + effect + "\n";
}

void put_location(JsonWriter& json, const Location& location) {
    if (location.line == 0 && location.file.empty()) {
        json.null();
        return;
    }
    json.begin_object().field("file", location.file).field("line", location.line);
    json.field("function", location.function).end_object();
}

// Losses, norms and printed tensors seldom need action, so they share one line. It names few rows:
// a program may have ended because of them.
std::string harmless_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths) {
    uint64_t count = 0;
    uint64_t row_count = 0;
    std::string lines;
    for (const ValueReadRow& row : reads) {
        if (!may_change_memory(row)) {
            count += row.count;
            lines += (row_count++ == 0 ? "" : " and ") + line_text(row, paths);
        }
    }
    if (count == 0) {
        return {};
    }
    return "  " + format_count(count) + (count == 1 ? " read" : " reads") +
           " of floating-point numbers (a loss, a norm) or for printing, at " +
           (row_count <= kHarmlessRowsNamed ? lines : format_count(row_count) + " lines") +
           ": they seldom decide a size\n";
}

}  // namespace

std::string value_reads_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths) {
    if (reads.empty()) {
        return {};
    }
    const bool all_are_assumed = std::all_of(
        reads.begin(), reads.end(), [](const ValueReadRow& row) { return row.is_assumed; });
    std::string text =
        all_are_assumed
            ? "\nThe program read these values from the GPU:\n"
            : "\nThe program read these values from the GPU; simulated, they were taken as 0. Give "
              "real ones with --assume FILE:LINE=VALUE (either line of a row), the tokens of "
              "experts with --assume routing=balanced:\n";
    size_t count = 0;
    for (const ValueReadRow& row : reads) {
        if (may_change_memory(row) && ++count <= kRowsShown) {
            text += row_text(row, paths);
        }
    }
    if (count > kRowsShown) {
        text += "  ... " + format_count(count - kRowsShown) + " more in --json\n";
    }
    return text + harmless_text(reads, paths);
}

std::string too_low_sentence(uint64_t count) {
    return count == 0 ? std::string()
                      : "The peak may be too low: " + format_count(count) +
                            (count == 1 ? " size was" : " sizes were") +
                            " read from the simulated GPU as 0 (peakline summary lists " +
                            (count == 1 ? "it" : "them") + "; run --assume gives real ones)";
}

uint64_t zero_size_count(const TraceReader& reader) {
    return zero_size_count(build_value_reads(read_value_reads(reader), reader.definitions()));
}

void put_too_low(JsonWriter& json, const TraceReader& reader) {
    const uint64_t count = zero_size_count(reader);
    json.field("sizes_read_as_zero", count);
    json.text_or_null("too_low", too_low_sentence(count));
}

void put_value_reads(JsonWriter& json,
                     const std::vector<ValueReadRow>& reads,
                     const PathDisplay& paths) {
    json.begin_array();
    for (const ValueReadRow& row : reads) {
        json.begin_object().field("key", label_text(paths, row.label));
        json.key("location");
        put_location(json, row.label.frames.empty() ? Location{} : row.label.frames.front());
        json.key("library");
        put_location(json, row.library);
        json.field("operator", row.operation).field("effect", effect_name(row.effect));
        json.field("floating_point", row.is_floating_point).field("assumed", row.is_assumed);
        json.field("count", row.count).field("bytes", row.bytes).end_object();
    }
    json.end_array();
}

}  // namespace peakline::report
