// The sentences of `table` and `summary`.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "report/render/facts/coverage.h"
#include "report/render/facts/value_reads.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/printable.h"
#include "report/replay/values/device_names.h"
#include "run_facts.h"
#include "table_report.h"

namespace peakline::report {
namespace {

// The level at the chosen moment; empty at the peak.
Fact moment_fact(const TableReport& report) {
    const Moment& moment = report.selection.request.moment;
    const std::string bytes = format_bytes(report.part.total_bytes);
    switch (moment.kind) {
        case MomentKind::kPeak:
            break;
        case MomentKind::kEnd:
            return {"Live at the end", bytes};
        case MomentKind::kTime:
            return {"Live at " + moment_text(moment) + " s", bytes};
        case MomentKind::kOutOfMemory:
            return {"Live when memory ran out", bytes};
        case MomentKind::kPhase:
            return {"Max mem in phase " + printable(moment.phase), bytes};
    }
    return {};
}

// Empty with one GPU. Host memory below 1 MiB is left out: any program has some.
std::string devices_text(const ReplayResult& result) {
    constexpr uint64_t kLeastHostBytes = uint64_t{1} << 20;
    const bool is_host_shown = format::is_of_host(result.chosen.device);
    size_t count = 0;
    std::string peaks;
    for (const DeviceTotals& device : result.devices) {
        if (!format::is_of_host(device.device) || is_host_shown ||
            device.peak_bytes >= kLeastHostBytes) {
            ++count;
            peaks += " " + device_name(device.device) + " " + format_bytes(device.peak_bytes) + ",";
        }
    }
    if (count < 2 && !is_host_shown) {
        return {};
    }
    const std::string shown = "Device " + device_text(result) + " shown";
    if (count < 2) {
        return shown + "\n";
    }
    peaks.back() = '\n';
    return shown + "; peaks:" + peaks;
}

}  // namespace

void put_moment(JsonWriter& json, const Selection& selection) {
    json.field("at", moment_text(selection.request.moment));
    json.text_or_null("during", selection.during);
}

std::string moment_text(const Moment& moment) {
    char seconds[32];
    switch (moment.kind) {
        case MomentKind::kPeak:
            return "peak";
        case MomentKind::kEnd:
            return "end";
        case MomentKind::kTime:
            std::snprintf(seconds, sizeof(seconds), "%g", moment.seconds);
            return seconds;
        case MomentKind::kOutOfMemory:
            return moment.request_number == 0 ? "oom"
                                              : "oom@" + std::to_string(moment.request_number);
        case MomentKind::kPhase:
            break;
    }
    return moment.phase;
}

std::string device_text(const ReplayResult& result) {
    return result.is_sum ? "all" : device_word(result.chosen.device);
}

std::string simulated_text(const TraceReader& reader) {
    const std::string_view device = reader.definitions().meta_text("simulated");
    return device.empty()
               ? std::string()
               : "Simulated device: " + printable(device) + " (sizes are real, numbers are not)\n";
}

// "5..8" or "5..", as --steps takes it.
std::string recorded_steps_text(std::string_view steps) {
    const size_t dots = steps.find("..");
    if (dots == std::string_view::npos) {
        return {};
    }
    const std::string_view last = steps.substr(dots + 2);
    const std::string first = printable(steps.substr(0, dots));
    return "Recorded: " +
           (last.empty()    ? "optimizer step " + first + " and all after it"
            : last == first ? "optimizer step " + first
                            : "optimizer steps " + first + " to " + printable(last)) +
           " (--steps); reports count them from 0\n";
}

std::string stopped_text(const TraceReader& reader) {
    const std::string_view place = reader.definitions().meta_text("stopped_waiting_at");
    const std::string_view steps = reader.definitions().meta_text("ended_after_steps");
    std::string text;
    if (!place.empty()) {
        text += "The program was ended at " + printable(place) +
                ", where it seemed to wait for a value: this is not its whole run\n";
    }
    if (!steps.empty()) {
        text += "The program was ended after " + printable(steps) + " optimizer step" +
                (steps == "1" ? "" : "s") + " (--steps): this is not its whole run\n";
    }
    return text + recorded_steps_text(reader.definitions().meta_text("recorded_steps"));
}

std::string out_of_memory_text(const TableReport& report) {
    const OutOfMemory& facts = report.out_of_memory.facts;
    if (facts.count == 0) {
        return {};
    }
    const std::string times =
        facts.count == 1 ? " at" : " " + format_count(facts.count) + " times, the last time at";
    return "Out of memory" + times + " t=" + format_seconds(report.reader.seconds(facts.tick)) +
           ": " + format_bytes(facts.requested_bytes) + " asked for at " +
           printable(label_text(report.paths, report.out_of_memory.line)) + ", device " +
           std::to_string(facts.device) + " had " + format_bytes(facts.free_bytes) + " free\n";
}

std::string health_text(const TraceHealth& health) {
    std::string text;
    if (health.records_dropped != 0) {
        text += format_count(health.records_dropped) + " records dropped (" +
                format_bytes(health.bytes_dropped) + "): figures may be too low\n";
    }
    for (const std::string& problem : health.problems.texts()) {
        text += printable(problem) + "\n";
    }
    return text;
}

std::string unmatched_text(uint64_t unmatched_module_count) {
    if (unmatched_module_count == 0) {
        return {};
    }
    const bool one = unmatched_module_count == 1;
    return format_count(unmatched_module_count) + (one ? " library" : " libraries") +
           " of the program could not be matched with a file of this machine (missing, or another"
           " build): functions in " +
           (one ? "it" : "them") +
           " have no names; read the trace where it was recorded, or add --symbols FOLDER with the "
           "same "
           "files (site-packages of the same torch)\n";
}

std::string frees_text(const TraceReader& reader) {
    const bool has_frees = !reader.definitions().meta_text("frees").empty();
    return has_frees ? std::string()
                     : "To see the freeing lines, record with peakline run --frees\n";
}

void put_head(Document& document, const TableReport& report) {
    document.say_lines(run_head_text(report.reader));
    document.say(too_low_sentence(zero_size_count(report.value_reads)), Tone::kWarning);
}

std::vector<Fact> table_facts(const TableReport& report) {
    const DeviceTotals& chosen = report.result.chosen;
    const auto driver = report.selection.driver_measure;
    const char* const peak_name = !driver                               ? "Max mem"
                                  : *driver == DriverMeasure::kReserved ? "Max reserved"
                                                                        : "Max asked of the driver";
    std::vector<Fact> facts = {{peak_name, format_bytes(chosen.peak_bytes)}};
    if (!driver) {
        facts.push_back({"Total mem allocated", format_bytes(chosen.total_allocated_bytes)});
    }
    if (Fact moment = moment_fact(report); !moment.value.empty()) {
        facts.push_back(std::move(moment));
    }
    return facts;
}

// Names the largest parts.
std::string outside_text(const TableReport& report) {
    constexpr size_t kMostParts = 3;
    if (!report.outside) {
        return {};
    }
    const auto& parts = report.outside->parts;
    std::string names;
    for (size_t i = 0; i < std::min(kMostParts, parts.size()); ++i) {
        names += (i == 0 ? "" : ", ") + parts[i].name + " " + format_bytes(parts[i].bytes);
    }
    return "At this moment " + format_bytes(report.outside->bytes) +
           " more of the device were in use: " + names +
           (parts.size() > kMostParts ? ", ..." : "") + " (peakline ledger)\n";
}

// The peak with and without memory of the compiler; empty if that is one part in a hundred or less.
std::string compiling_text(const TableReport& report) {
    const uint64_t peak_bytes = report.result.chosen.peak_bytes;
    if (!report.compiling || report.compiling->peak_without_bytes >= peak_bytes / 100 * 99) {
        return {};
    }
    std::string parts;
    for (const CompilingAtPeak::Part& part : report.compiling->parts) {
        parts += (parts.empty() ? "" : ", ") + part.phase + " " + format_bytes(part.bytes);
    }
    return "The peak while compiling is " + format_bytes(peak_bytes) + " (" + parts +
           "); without this memory the run peaks at " +
           format_bytes(report.compiling->peak_without_bytes) + "\n";
}

std::string shared_text(const std::vector<LedgerPart>& shared) {
    std::string text;
    for (const LedgerPart& part : shared) {
        const std::string bytes = format_bytes(part.bytes);
        text += part.kind == PartKind::kOpened
                    ? "At this moment " + bytes + " of the device are " + printable(part.name) +
                          " and count there, not here (peakline ledger)\n"
                    : "At this moment " + bytes + " of the device are " + printable(part.name) +
                          " (peakline ledger)\n";
    }
    return text;
}

void put_run_notes(Document& document, const TableReport& report) {
    document.say_lines(compiling_text(report));
    document.say_lines(out_of_memory_text(report), Tone::kWarning);
    document.say_lines(outside_text(report));
    document.say_lines(shared_text(report.shared));
    document.say_lines(coverage_text(report.reader));
    document.say_lines(unmatched_text(report.unmatched_module_count));
    document.say_lines(health_text(report.result.health), Tone::kWarning);
    document.say_lines(stopped_text(report.reader), Tone::kWarning);
    document.say_lines(value_reads_text(report.value_reads, report.paths));
}

std::string pinned_text(const TableReport& report) {
    if (!report.pinned || report.pinned->least_asked_bytes == report.pinned->given_bytes) {
        return {};
    }
    const PinnedRounding& pinned = *report.pinned;
    const std::string most = format_bytes(pinned.most_asked_bytes);
    return (pinned.least_asked_bytes == pinned.most_asked_bytes
                ? most
                : format_bytes(pinned.least_asked_bytes) + " to " + most) +
           " were asked for, " + format_bytes(pinned.given_bytes) +
           " given: torch rounds blocks of pinned memory up to powers of two\n";
}

void put_table_notes(Document& document, const TableReport& report) {
    document.say_lines(pinned_text(report));
    document.say_lines(makes_rows(report.selection, "freed-by") ? frees_text(report.reader) : "");
    document.say_lines(stacks_text(report.reader, report.selection));
    document.say_lines(devices_text(report.result));
    put_run_notes(document, report);
}

}  // namespace peakline::report
