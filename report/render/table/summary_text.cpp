// `summary` for people.
#include <algorithm>
#include <string_view>

#include "report/render/facts/coverage.h"
#include "report/render/facts/value_reads.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/replay/values/device_names.h"
#include "run_facts.h"
#include "summary_report.h"

namespace peakline::report {
namespace {

// "Host:          node-3", nothing when there is no value.
std::string fact_text(const Fact& fact) {
    if (fact.value.empty()) {
        return {};
    }
    std::string line = fact.name + ":";
    line.resize(std::max<size_t>(line.size() + 1, 17), ' ');
    return line + printable(fact.value) + "\n";
}

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
        // The driver is asked for whole blocks: what the program wanted is not known here.
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

std::string top_rows_text(const TableReport& report) {
    const auto& rows = report.table.rows;
    const uint64_t shown = shown_count(report.top, rows.size());
    std::string text = where_text(report.selection, report.part);
    if (shown == 0) {
        return text;
    }
    text += summary_title(report) + ":\n";
    for (size_t i = 0; i < shown; ++i) {
        const std::string start =
            "  " + format_bytes(rows[i].bytes) + "  " + format_share(rows[i].share) + "  ";
        text += row_with_via(report.paths, start, rows[i].labels, rows[i].via) + "\n";
    }
    return text;
}

std::string recording_text(const TableReport& report) {
    if (!report.result.health.complete()) {
        return "incomplete, see below";
    }
    return report.result.out_of_memory.count == 0
               ? "complete"
               : "complete; the program ran out of memory, see below";
}

}  // namespace

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

std::string summary_title(const TableReport& report) {
    return "Top of device " + device_text(report.result) + " at " +
           printable(moment_text(report.selection.request.moment));
}

std::vector<Note> summary_notes(const TableReport& report) {
    std::vector<Note> notes = run_notes(report);
    notes.insert(notes.begin(), {stacks_text(report.reader, report.selection)});
    return notes;
}

std::string summary_text(const TableReport& report) {
    std::string text = text_of_notes(head_notes(report));
    for (const Fact& fact : summary_facts(report)) {
        text += fact_text(fact);
    }
    return text + top_rows_text(report) + text_of_notes(summary_notes(report));
}

}  // namespace peakline::report
