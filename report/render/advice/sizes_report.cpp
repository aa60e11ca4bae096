#include "sizes_report.h"

#include <algorithm>
#include <set>

#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"
#include "report/render/table/table_report.h"

namespace peakline::report {
namespace {

std::string bytes_text(int64_t bytes) {
    return format_bytes(static_cast<uint64_t>(std::max<int64_t>(0, bytes)));
}

const char* part_name(RunPart part) {
    return part == RunPart::kPrefill ? "prefill" : part == RunPart::kDecode ? "decode" : "";
}

std::string size_text(const SizedPeak& peak) {
    const StepSize& size = peak.size;
    std::string text =
        "batch=" + std::to_string(size.batch) + ", length=" + std::to_string(size.length);
    if (peak.part != RunPart::kWhole) {
        text += ", new=" + std::to_string(peak.new_tokens) + ", " + part_name(peak.part);
    }
    return text;
}

// The size with the highest peak; nullptr: no size has a prediction.
const SizedPeak* highest(const SizePrediction& prediction) {
    const SizedPeak* most = nullptr;
    for (const SizedPeak& peak : prediction.peaks) {
        if (peak.refusal.empty() && (most == nullptr || peak.peak.bytes > most->peak.bytes)) {
            most = &peak;
        }
    }
    return most;
}

std::string error_text(const RecordedSize& one) {
    const auto real = static_cast<int64_t>(one.peak_bytes);
    if (one.model_bytes == real) {
        return "exact";
    }
    const int64_t error = one.model_bytes - real;
    return (error > 0 ? "+" : "-") + bytes_text(std::abs(error));
}

void show_recorded(Document& document, const SizePrediction& prediction) {
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Batch"},
                         {nullptr, "Length"},
                         {nullptr, "Peak"},
                         {nullptr, "Model"},
                         {nullptr, "Recording", Align::kLeft}});
    for (const RecordedSize& one : prediction.recorded) {
        table.add({count_cell(one.size.batch),
                   count_cell(one.size.length),
                   bytes_cell(one.peak_bytes),
                   cell(error_text(one)),
                   cell(one.name)});
    }
}

std::string blocks_text(const SizePrediction& prediction) {
    const uint64_t count = prediction.recorded[prediction.base].block_count;
    std::string text = format_count(prediction.checked_count) + " of " + format_count(count) +
                       " allocations follow a formula that the recordings confirm";
    if (prediction.changed_count != 0) {
        text += "; " + format_count(prediction.changed_count) +
                " are missing in a recording: kernels change with the size";
    }
    return text + ".";
}

void say_budget(Document& document, const SizesReport& report, const SizedPeak& peak) {
    if (!peak.largest_batch.has_value()) {
        return;
    }
    const bool fits = peak.most_block_bytes() <= static_cast<int64_t>(report.budget_bytes);
    std::string text =
        "Budget " + format_bytes(report.budget_bytes) + (fits ? ": fits" : ": does not fit");
    if (*peak.largest_batch != 0) {
        text += "; the largest batch of this length is " + format_count(*peak.largest_batch);
    } else if (!fits) {
        text += "; these recordings show no batch of this length that does";
    }
    document.say(text);
    if (peak.in_parts.has_value()) {
        const SizeInParts& parts = *peak.in_parts;
        document.say("In " + std::to_string(parts.parts) +
                     " parts of batch=" + std::to_string(parts.batch) +
                     ", whose gradients are added up: at most " + bytes_text(parts.block_bytes));
    }
}

// Classes of transformers' caches, by the methods that made what is held.
std::string cache_classes(const SizedPeak& peak) {
    std::set<std::string> names;
    for (const SizedRow& row : peak.rows) {
        if (row.line.frames.empty()) {
            continue;
        }
        const Location& location = row.line.frames.front();
        const size_t dot = location.qualified_name.find('.');
        if (dot != std::string::npos && location.file.ends_with("/transformers/cache_utils.py")) {
            names.insert(location.qualified_name.substr(0, dot));
        }
    }
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

void say_peak(Document& document, const SizesReport& report, const SizedPeak& peak) {
    if (!peak.refusal.empty()) {
        document.say("No prediction for " + size_text(peak) + ": " + peak.refusal + ".",
                     Tone::kWarning);
        return;
    }
    document.say("Peak at " + size_text(peak) + ": " + bytes_text(peak.peak.bytes) +
                     " requested, about " + bytes_text(peak.block_bytes) +
                     " in blocks of the allocator",
                 Tone::kAnswer);
    if (bytes_text(peak.peak.low) != bytes_text(peak.peak.high)) {
        document.say("At least " + bytes_text(peak.peak.low) + ", at most " +
                     bytes_text(peak.peak.high) + ": some sizes have several formulas");
    }
    if (!peak.line.key.empty()) {
        document.say("Reached at " + printable(label_text(report.paths, peak.line)));
    }
    if (peak.part == RunPart::kDecode) {
        document.say("Each further token of a sequence lifts it by " +
                     format_count(static_cast<uint64_t>(std::max<int64_t>(0, peak.token_bytes))) +
                     " bytes");
        const std::string classes = cache_classes(peak);
        document.say(classes.empty() ? "" : "Cache of keys and values: " + printable(classes));
    }
    say_budget(document, report, peak);
}

void show_rows(Document& document, const SizesReport& report, const SizedPeak& peak) {
    document.show_empty_line();
    DocumentTable table(document,
                        nullptr,
                        {{nullptr, "Held"},
                         {nullptr, "%"},
                         {nullptr, "Grows with", Align::kLeft},
                         {nullptr, "Line", Align::kLeft}});
    const uint64_t shown = shown_count(report.top, peak.rows.size());
    for (size_t i = 0; i < shown; ++i) {
        const SizedRow& row = peak.rows[i];
        const double share = static_cast<double>(row.bytes.bytes) /
                             static_cast<double>(std::max<int64_t>(1, peak.peak.bytes));
        table.add({bytes_cell(static_cast<uint64_t>(std::max<int64_t>(0, row.bytes.bytes))),
                   percent_cell(share),
                   cell(growth_name(row.growth)),
                   line_cell(report.paths, {row.line})});
    }
    if (shown < peak.rows.size()) {
        int64_t rest = 0;
        for (size_t i = shown; i < peak.rows.size(); ++i) {
            rest += peak.rows[i].bytes.bytes;
        }
        const double share =
            static_cast<double>(rest) / static_cast<double>(std::max<int64_t>(1, peak.peak.bytes));
        table.add({cell(bytes_text(rest)),
                   percent_cell(share),
                   cell(""),
                   cell(format_count(peak.rows.size() - shown) + " more rows (--json has them)")});
    }
}

void say_for_people(Document& document, const SizesReport& report) {
    const SizePrediction& prediction = report.prediction;
    document.say_lines(head_text(report.reader));
    if (!prediction.refusal.empty()) {
        document.say("No prediction: " + printable(prediction.refusal) + ".", Tone::kWarning);
        return;
    }
    show_recorded(document, prediction);
    document.say(blocks_text(prediction));
    document.show_empty_line();
    for (const SizedPeak& peak : prediction.peaks) {
        say_peak(document, report, peak);
    }
    if (const SizedPeak* const most = highest(prediction)) {
        show_rows(document, report, *most);
    }
}

void put_recorded(JsonWriter& json, const SizePrediction& prediction) {
    json.key("recordings").begin_array();
    for (const RecordedSize& one : prediction.recorded) {
        json.begin_object().field("file", one.name);
        json.field("batch", one.size.batch).field("length", one.size.length);
        json.field("peak_bytes", one.peak_bytes).field("model_bytes", one.model_bytes);
        json.field("allocations", one.block_count).field("only_here", one.only_here).end_object();
    }
    json.end_array();
}

void put_row(JsonWriter& json, const SizesReport& report, const SizedRow& row) {
    json.begin_object().field("key", row.line.key).field("grows_with", growth_name(row.growth));
    json.field("bytes", row.bytes.bytes).field("low_bytes", row.bytes.low);
    json.field("high_bytes", row.bytes.high).field("count", row.count);
    put_location_of(json, report.paths, {row.line});
    json.end_object();
}

void put_parts(JsonWriter& json, const std::optional<SizeInParts>& parts) {
    if (!parts.has_value()) {
        json.null();
        return;
    }
    json.begin_object().field("parts", parts->parts).field("batch", parts->batch);
    json.field("most_block_bytes", parts->block_bytes).end_object();
}

void put_peaks(JsonWriter& json, const SizesReport& report) {
    json.key("peaks").begin_array();
    for (const SizedPeak& peak : report.prediction.peaks) {
        const bool is_known = peak.refusal.empty();
        const auto known = [&](int64_t bytes) {
            return is_known ? std::optional(bytes) : std::nullopt;
        };
        json.begin_object().field("batch", peak.size.batch).field("length", peak.size.length);
        json.text_or_null("part", part_name(peak.part));
        json.text_or_null("refusal", peak.refusal);
        json.field("new_tokens",
                   peak.part != RunPart::kWhole ? std::optional(peak.new_tokens) : std::nullopt);
        json.field("token_bytes",
                   peak.part == RunPart::kDecode ? std::optional(peak.token_bytes) : std::nullopt);
        json.field(
            "cache",
            peak.part == RunPart::kDecode ? std::optional(cache_classes(peak)) : std::nullopt);
        json.field("requested_bytes", known(peak.peak.bytes));
        json.field("low_bytes", peak.peak.low).field("high_bytes", peak.peak.high);
        json.field("block_bytes", known(peak.block_bytes));
        json.field("largest_batch", peak.largest_batch).key("in_parts");
        put_parts(json, peak.in_parts);
        json.field("key", peak.line.key);
        put_location_of(json, report.paths, {peak.line});
        json.key("rows").begin_array();
        const uint64_t shown = shown_count(report.top, peak.rows.size());
        for (size_t i = 0; i < shown; ++i) {
            put_row(json, report, peak.rows[i]);
        }
        json.end_array().end_object();
    }
    json.end_array();
}

void put_for_programs(JsonWriter& json, const SizesReport& report) {
    const SizePrediction& prediction = report.prediction;
    json.field("schema_version", 1).field("file", report.reader.name());
    put_device(json, prediction.device, scope_of(false));
    json.field("budget_bytes",
               report.budget_bytes != 0 ? std::optional(report.budget_bytes) : std::nullopt);
    json.text_or_null("refusal", prediction.refusal);
    put_recorded(json, prediction);
    json.field("confirmed_allocations", prediction.checked_count);
    json.field("changed_allocations", prediction.changed_count);
    put_peaks(json, report);
}

}  // namespace

void put_sizes(Document& document, const SizesReport& report) {
    put_for_programs(document.fields(), report);
    say_for_people(document, report);
    put_coverage_and_health(document, report.reader, report.prediction.health);
}

}  // namespace peakline::report
