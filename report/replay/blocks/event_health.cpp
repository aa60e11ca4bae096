// The sentences about an incomplete trace.
#include "event_health.h"

#include <cstdio>
#include <cstring>
#include <string>

namespace peakline::report {
namespace {

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.1f", seconds);
    return text;
}

}  // namespace

void EventHealth::restore(const Checkpoint& checkpoint) {
    tracing_seen = checkpoint.tracing;
    records_dropped = checkpoint.records_dropped;
    bytes_dropped = checkpoint.bytes_dropped;
    for (const SummaryView& view : checkpoint.views) {
        tracing_seen = tracing_seen || view.peak_bytes != 0;
    }
}

void EventHealth::on_rare(const RareEvent& event, uint64_t tick) {
    if (const auto loss = event.as<format::Loss>()) {
        records_dropped += loss->records_dropped;
        bytes_dropped += loss->bytes_dropped;
    } else if (const auto stopped = event.as<format::Stopped>()) {
        writing_stopped = true;
        stop_error = stopped->error;
    } else if (const auto mark = event.as<format::Mark>()) {
        tracing_seen = tracing_seen || mark->kind == format::MarkKind::kTracingStarted;
        if (mark->kind == format::MarkKind::kMainEnd && !main_end_tick.has_value()) {
            main_end_tick = tick;
        }
    }
}

void EventHealth::add_counts(const std::string& name, Problems& problems) const {
    const auto add = [&](uint64_t count, const char* text) {
        if (count != 0) {
            problems.add(name + ": " + std::to_string(count) + text);
        }
    };
    add(unmatched_free_count, " frees name allocations that are not in the trace");
    add(lost_definition_alloc_count,
        " allocations have no readable definition: they are not counted");
    add(unknown_context_count, " allocations name a context that is not defined");
    add(unknown_id_count, " events name a thread, stream, context or text that is not defined");
    add(impossible_event_count, " events name a device that cannot be: they are left out");
}

// Describes a recording without a clean end.
std::string EventHealth::end_text(const TraceReader& reader, const EventTotals& totals) const {
    const std::string moment = "t=" + seconds_text(reader.seconds(totals.last_tick)) + " s (" +
                               std::to_string(totals.event_count) + " events)";
    if (writing_stopped) {
        const int error = stop_error < 4096 ? static_cast<int>(stop_error) : 0;
        return "the recorder could not go on writing (" + std::string(std::strerror(error)) +
               "): everything up to " + moment + " is here, nothing after it";
    }
    if (reader.is_being_written()) {
        return "still being written by process " + std::to_string(reader.superblock().pid) +
               ": everything up to " + moment + " is here";
    }
    return "the program was killed or interrupted: everything up to its end at " + moment +
           " is here";
}

TraceHealth EventHealth::finish(const TraceReader& reader, const EventTotals& totals) const {
    TraceHealth health;
    health.clean_end = totals.clean_end;
    health.records_dropped = records_dropped;
    health.bytes_dropped = bytes_dropped;
    health.event_count = totals.event_count;
    health.last_tick = main_end_tick.value_or(totals.last_tick);
    health.problems = reader.problems();
    health.problems.append(totals.problems);
    add_counts(reader.name(), health.problems);
    if (!totals.clean_end || writing_stopped) {
        health.problems.add(reader.name() + ": " + end_text(reader, totals));
    }
    return health;
}

}  // namespace peakline::report
