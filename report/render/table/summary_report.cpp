#include "summary_report.h"

#include <algorithm>
#include <string_view>

#include "report/render/facts/coverage.h"
#include "report/render/format/device_json.h"
#include "report/render/format/format_bytes.h"
#include "report/replay/values/device_names.h"
#include "run_facts.h"

namespace peakline::report {
namespace {

std::string versions_text(const Definitions& definitions) {
    std::string text;
    constexpr const char* kVersions[][2] = {{"Python ", "python_version"},
                                            {"torch ", "torch_version"},
                                            {"peakline ", "peakline_version"},
                                            {"backend ", "backend"}};
    for (const auto& [name, key] : kVersions) {
        const std::string_view value = definitions.meta_text(key);
        if (!value.empty()) {
            text += (text.empty() ? "" : ", ") + std::string(name) + std::string(value);
        }
    }
    return text;
}

std::string process_text(const TraceReader& reader) {
    const std::string_view rank = reader.definitions().meta_text("rank");
    return std::to_string(reader.superblock().pid) +
           (rank.empty() ? "" : ", rank " + std::string(rank));
}

std::string model_of_device(const TraceReader& reader, uint32_t device) {
    const std::string key = "device." + std::to_string(device) + ".name";
    const std::string_view name = reader.definitions().meta_text(key);
    return name.empty() ? std::string() : " (" + std::string(name) + ")";
}

const DeviceTotals* same_device(const std::vector<DeviceTotals>& devices, uint32_t number) {
    const auto found =
        std::find_if(devices.begin(), devices.end(), [number](const DeviceTotals& device) {
            return device.device == number;
        });
    return found == devices.end() ? nullptr : &*found;
}

Fact device_fact(const TableReport& report, const DeviceTotals& device) {
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    std::string text = format_bytes(device.peak_bytes) + (allocated ? " allocated" : " requested");
    const DeviceTotals* other = same_device(report.result.other_measure, device.device);
    if (device.device == format::kPinnedDevice) {
        // Torch requests whole blocks of pinned memory, so the program's own requests are unknown
        // here.
        text += " in blocks that torch rounds up to powers of two (peakline table --device pinned)";
    } else if (other != nullptr) {
        text += ", " + format_bytes(other->peak_bytes) + (allocated ? " requested" : " allocated");
    }
    text += " at t=" + format_seconds(report.reader.seconds(device.peak_tick)) + "; total " +
            format_bytes(device.total_allocated_bytes) + " in " + format_count(device.alloc_count) +
            " allocations, " + format_bytes(device.level_bytes) + " still live at the end";
    return {device_title(device.device) + " peak",
            text + model_of_device(report.reader, device.device)};
}

std::string recording_text(const TableReport& report) {
    if (!report.result.health.complete()) {
        return "incomplete, see below";
    }
    return report.result.out_of_memory.count == 0
               ? "complete"
               : "complete; the program ran out of memory, see below";
}

std::vector<Fact> summary_facts(const TableReport& report) {
    const Definitions& definitions = report.reader.definitions();
    const TraceHealth& health = report.result.health;
    const std::string start = start_text(report.reader);
    std::vector<Fact> facts = {
        {"Trace", report.reader.name()},
        {"Command", std::string(definitions.meta_text("argv"))},
        {"Host", std::string(definitions.meta_text("host"))},
        {"Process", process_text(report.reader)},
        {"Versions", versions_text(definitions)},
        {"Started", start.empty() ? start : start + " UTC"},
        {"Duration", format_seconds(report.reader.seconds(health.last_tick))},
        {"Events", format_count(health.event_count)},
    };
    for (const DeviceTotals& device : report.result.devices) {
        facts.push_back(device_fact(report, device));
    }
    facts.push_back({"Recording", recording_text(report)});
    return facts;
}

void put_totals(JsonWriter& json, const TraceReader& reader, const DeviceTotals& device) {
    json.begin_object().field("peak_bytes", device.peak_bytes);
    json.field("peak_seconds", reader.seconds(device.peak_tick));
    json.field("live_at_end_bytes", device.level_bytes);
    json.field("total_allocated_bytes", device.total_allocated_bytes);
    json.field("alloc_count", device.alloc_count).field("free_count", device.free_count);
    json.end_object();
}

void put_peaks(JsonWriter& json, const TableReport& report, const DeviceTotals& device) {
    const bool allocated = report.selection.request.measure == format::Measure::kAllocated;
    const std::string key = "device." + std::to_string(device.device) + ".name";
    const std::string_view name = report.reader.definitions().meta_text(key);
    put_device(json.begin_object(), device.device).key("name");
    name.empty() ? json.null() : json.value(name);
    json.field("peak_bytes", device.peak_bytes);
    json.key(allocated ? "allocated" : "requested");
    put_totals(json, report.reader, device);
    for (const DeviceTotals& other : report.result.other_measure) {
        if (other.device == device.device) {
            json.key(allocated ? "requested" : "allocated");
            put_totals(json, report.reader, other);
        }
    }
    json.end_object();
}

}  // namespace

void put_summary(Document& document, const TableReport& report) {
    const TraceHealth& health = report.result.health;
    if (!document.is_for_people()) {
        JsonWriter& json = document.fields().field("schema_version", 1);
        put_run_facts(json, report.reader);
        put_simulated(json, report.reader);
        put_lines_missing(json, report.reader);
        json.field("duration_seconds", report.reader.seconds(health.last_tick));
        json.field("event_count", health.event_count).key("devices").begin_array();
        for (const DeviceTotals& device : report.result.devices) {
            put_peaks(json, report, device);
        }
        put_coverage(json.end_array(), report.reader);
        Document table(OutputForm::kJson);
        put_table(table, report);
        json.key("table").embed(table.take()).field("complete", health.complete());
        json.field("problems", health.problems.texts());
        return;
    }
    put_head(document, report);
    document.show_facts(summary_facts(report), true);
    document.say_lines(where_text(report.selection, report.part));
    document.show_gap();
    document.say("Top of device " + device_text(report.result) + " at " +
                     moment_text(report.selection.request.moment),
                 Tone::kHeading);
    put_rows(document,
             report,
             {{"bytes", "Held"},
              {nullptr, "%"},
              hidden("cumulative_bytes"),
              hidden("median_bytes"),
              hidden("count"),
              {"key", head_of_keys(report.selection.row_keys), Align::kLeft}});
    document.show_gap();
    document.say_lines(stacks_text(report.reader, report.selection));
    put_run_notes(document, report);
}

}  // namespace peakline::report
