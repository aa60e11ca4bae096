#include "whatif_report.h"

#include "report/render/format/printable.h"
#include "report/render/format/shown_count.h"
#include "report/render/table/run_facts.h"

namespace peakline::report {
namespace {

constexpr const char* kAsRecorded = "as recorded";

std::string line_text(const WhatIfReport& report, const Label& line) {
    return printable(label_text(report.paths, line));
}

std::string place_text(const WhatIfReport& report, const WhatIfRefusal& refused) {
    std::string text = format_bytes(refused.requested_bytes) + " at " +
                       line_text(report, refused.line) + ", " +
                       "t=" + format_seconds(report.reader.seconds(refused.tick));
    text += refused.step ? ", step " + std::to_string(*refused.step) : "";
    return text + (refused.phase.empty() ? "" : ", " + printable(refused.phase));
}

// The first difference as one line; empty: none.
std::string difference_text(const WhatIfReport& report) {
    const VerifiedRun& run = report.answer.verified;
    if (!run.difference.has_value()) {
        return {};
    }
    const ReplayDifference& found = *run.difference;
    std::string text = "event " + std::to_string(found.event) +
                       ", t=" + format_seconds(report.reader.seconds(found.tick));
    if (found.requested_bytes != 0) {
        text += ", request of " + std::to_string(found.requested_bytes) + " bytes";
    }
    if (report.answer.difference_line.has_value()) {
        text += " at " + line_text(report, *report.answer.difference_line);
    }
    return text + ": " + found.what;
}

std::string verified_text(const WhatIfReport& report) {
    const VerifiedRun& run = report.answer.verified;
    std::string text;
    if (!run.difference.has_value()) {
        text = "Verified: the model makes this run again exactly, " +
               format_count(run.request_count) + " requests and " +
               format_count(run.segment_event_count) + " segments (rules of " + run.rules.name +
               ")\n";
    } else {
        text = "Not verified: the model does not make this run again. First difference:\n  " +
               difference_text(report) + "\n";
        text += report.asked.is_unverified
                    ? "What follows may be wrong (--unverified).\n"
                    : "No prediction: it could be wrong; --unverified gives it all the same.\n";
    }
    if (!report.answer.sees_calls) {
        const std::string backend(report.reader.definitions().meta_text("backend"));
        const bool can_see = backend == "delegate" || backend.empty();
        text += "This recording does not know pools, torch.cuda.empty_cache() and free memory: " +
                format_count(run.guessed_empty_events.size()) + " emptied caches were guessed. " +
                (can_see ? "Record it again to know them.\n"
                         : "The backend " + printable(backend) +
                               " does not see them; record with --backend delegate.\n");
    }
    return text;
}

std::string change_text(uint64_t bytes, uint64_t base) {
    if (bytes == base || base == 0) {
        return "";
    }
    const bool is_more = bytes > base;
    const uint64_t change = is_more ? bytes - base : base - bytes;
    return (is_more ? "+" : "-") + format_bytes(change);
}

std::string count_text(uint64_t count, const std::optional<uint64_t>& first) {
    return format_count(count) + (first ? " (" + format_count(count - *first) + ")" : "");
}

std::string outcome_text(const WhatIfReport& report, const WhatIfRun& run) {
    std::string text = run.refused                       ? "out of memory"
                       : report.answer.device_bytes != 0 ? "fits"
                                                         : "";
    if (run.smallest_device_bytes) {
        text += (text.empty() ? "" : "; ") + std::string("needs ") +
                format_bytes(*run.smallest_device_bytes);
    }
    return text;
}

void add_run(DocumentTable& table,
             const WhatIfReport& report,
             const WhatIfRun& run,
             const std::string& name) {
    const Prediction& prediction = run.prediction;
    const ModelCounts& counts = prediction.counts;
    const auto first = [&](uint64_t ModelCounts::*count) {
        return prediction.first_step ? std::optional((*prediction.first_step).*count)
                                     : std::nullopt;
    };
    const ModelCounts& base = report.answer.recorded->prediction.counts;
    table.add_words({format_bytes(counts.reserved_peak_bytes),
                     change_text(counts.reserved_peak_bytes, base.reserved_peak_bytes),
                     count_text(counts.device_allocs, first(&ModelCounts::device_allocs)),
                     count_text(counts.device_frees, first(&ModelCounts::device_frees)),
                     format_count(counts.retries),
                     outcome_text(report, run),
                     name});
}

std::string name_of(const WhatIfRun& run) {
    const PredictionRequest& request = run.prediction.request;
    const std::string name = request.follows_settings        ? kAsRecorded
                             : request.settings.text.empty() ? "torch's defaults"
                                                             : request.settings.text;
    return name + (request.empties_cache ? ", cache emptied" : "");
}

std::string remarks(const WhatIfReport& report, const WhatIfRun& run) {
    std::string text;
    const std::string name = printable(name_of(run)) + ": ";
    if (run.refused.has_value()) {
        text += name + "out of memory, " + place_text(report, *run.refused) + "\n";
    }
    if (run.served.has_value()) {
        text += name + "serves what the recorded run was refused, " +
                place_text(report, *run.served) +
                "; what follows it is what the program did then\n";
    }
    if (run.is_worse) {
        text += "Warning: " + name + "worse than the recorded settings\n";
    }
    return text;
}

// "No allocator needs less than 12.60 GB for these blocks; this run reserved 12.8 % more."
std::string floor_text(const WhatIf& answer) {
    const uint64_t floor = answer.floor_bytes;
    const uint64_t reserved = answer.recorded->prediction.counts.reserved_peak_bytes;
    if (floor == 0 || reserved < floor) {
        return {};
    }
    const double more = static_cast<double>(reserved - floor) / static_cast<double>(floor);
    return "No allocator needs less than " + format_bytes(floor) +
           " for these blocks; as recorded " + words_of(share_cell(more)) + " more.";
}

void show_runs(Document& document, const WhatIfReport& report) {
    const WhatIf& answer = report.answer;
    document.say("Device " + std::to_string(answer.verified.device) +
                 (answer.device_bytes != 0
                      ? ": " + format_bytes(answer.device_bytes) +
                            ", of which others than torch have " +
                            format_bytes(answer.verified.other_bytes.value_or(0))
                      : ": its size is not known"));
    document.show_empty_line();
    std::string text = remarks(report, *answer.recorded);
    {
        DocumentTable table(document,
                            nullptr,
                            {{nullptr, "Reserved"},
                             {nullptr, "Change"},
                             {nullptr, "Allocs"},
                             {nullptr, "Frees"},
                             {nullptr, "Retries"},
                             {nullptr, "Outcome", Align::kLeft},
                             {nullptr, "Settings", Align::kLeft}});
        add_run(table, report, *answer.recorded, kAsRecorded);
        const uint64_t shown = shown_count(report.top, answer.runs.size());
        for (size_t i = 0; i < shown; ++i) {
            add_run(table, report, answer.runs[i], name_of(answer.runs[i]));
            text += remarks(report, answer.runs[i]);
        }
    }
    const bool has_steps = answer.recorded->prediction.first_step.has_value();
    document.say("Allocs, Frees: calls of the device" +
                 std::string(has_steps ? " (after the first step)" : ""));
    document.say(floor_text(answer));
    document.say_lines(text.empty() ? "" : "\n" + text);
    document.show_empty_line();
    document.say(
        "Holds while the program asks for the same blocks in the same order: one that "
        "looks at free memory, or tunes itself, may not.");
}

void put_counts(JsonWriter& json, const ModelCounts& counts) {
    json.field("reserved_peak_bytes", counts.reserved_peak_bytes);
    json.field("device_allocs", counts.device_allocs).field("device_frees", counts.device_frees);
    json.field("retries", counts.retries);
}

void put_refusal(JsonWriter& json,
                 const WhatIfReport& report,
                 const char* key,
                 const std::optional<WhatIfRefusal>& refused) {
    json.key(key);
    if (!refused.has_value()) {
        json.null();
        return;
    }
    json.begin_object().field("location", label_text(report.paths, refused->line));
    json.field("requested_bytes", refused->requested_bytes);
    json.field("seconds", report.reader.seconds(refused->tick));
    json.field("phase", refused->phase).field("step", refused->step).end_object();
}

void put_run(JsonWriter& json, const WhatIfReport& report, const WhatIfRun& run) {
    const Prediction& prediction = run.prediction;
    json.begin_object().field("settings", prediction.request.settings.text);
    json.field("empties_cache", prediction.request.empties_cache);
    put_counts(json, prediction.counts);
    json.key("first_step");
    if (prediction.first_step.has_value()) {
        json.begin_object();
        put_counts(json, *prediction.first_step);
        json.end_object();
    } else {
        json.null();
    }
    put_refusal(json, report, "oom", run.refused);
    json.field("served_refusals", prediction.served_refusals);
    put_refusal(json, report, "first_served", run.served);
    json.field("smallest_device_bytes", run.smallest_device_bytes);
    json.field("is_worse", run.is_worse).end_object();
}

void put_use(JsonWriter& json, const AllocatorUse& use) {
    json.key("calls").begin_object();
    json.field("pools_created", use.pools_created).field("routings", use.routings);
    json.field("captures", use.captures).field("emptied_caches", use.emptied_caches);
    json.field("restores", use.restores).field("fractions_set", use.fractions_set);
    json.field("settings_given", use.settings_given);
    json.field("failed_device_allocs", use.failed_device_allocs).end_object();
}

void put_for_programs(JsonWriter& json, const WhatIfReport& report) {
    const WhatIf& answer = report.answer;
    const VerifiedRun& verified = answer.verified;
    json.field("schema_version", 1);
    put_run_facts(json, report.reader);
    put_simulated(json, report.reader);
    json.field("device", verified.device);
    json.field("verified", !verified.difference.has_value());
    json.text_or_null("first_difference", difference_text(report));
    json.field("rules", verified.rules.name).field("requests", verified.request_count);
    json.field("segment_events", verified.segment_event_count);
    json.field("recorded_reserved_peak_bytes", verified.recorded_peak_bytes);
    json.field("floor_bytes", answer.floor_bytes);
    json.field("sees_calls", answer.sees_calls);
    put_use(json, verified.use);
    json.field("guessed_emptied_caches",
               static_cast<uint64_t>(verified.guessed_empty_events.size()));
    json.field("other_bytes", verified.other_bytes);
    json.field("device_bytes",
               answer.device_bytes != 0 ? std::optional(answer.device_bytes) : std::nullopt);
    json.key("recorded");
    if (answer.recorded.has_value()) {
        put_run(json, report, *answer.recorded);
    } else {
        json.null();
    }
    json.key("runs").begin_array();
    const uint64_t shown = shown_count(report.top, answer.runs.size());
    for (size_t i = 0; i < shown; ++i) {
        put_run(json, report, answer.runs[i]);
    }
    json.end_array();
}

}  // namespace

void put_whatif(Document& document, const WhatIfReport& report) {
    if (!document.is_for_people()) {
        put_for_programs(document.fields(), report);
        return;
    }
    document.say_lines(verified_text(report));
    document.say_lines(head_text(report.reader));
    if (report.answer.recorded.has_value()) {
        show_runs(document, report);
    }
}

}  // namespace peakline::report
