// The small functions of peakline_api.h. peakline_enter is in install.cpp, the allocator interface
// in pluggable.cpp.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/files/page_guard.h"
#include "allocator/record/files/small_files.h"
#include "allocator/record/recorder.h"
#include "preload/hooks/segment_hooks.h"
#include "preload/hooks/torch_hooks.h"
#include "preload/life/build_cache.h"
#include "preload/life/install.h"
#include "preload/life/late_python.h"
#include "preload/life/life_cycle.h"
#include "preload/life/open_marks.h"
#include "preload/life/open_trace.h"
#include "preload/life/recorded_steps.h"
#include "preload/life/torch_library.h"
#include "preload/options/messages.h"
#include "preload/options/option_words.h"
#include "preload/options/rank_info.h"
#include "preload/options/trace_name.h"
#include "preload/peakline_api.h"
#include "preload/regions/open_regions.h"

#define PEAKLINE_EXPORT __attribute__((visibility("default")))

using peakline::preload::Installed;
using peakline::preload::installed;
using peakline::record::MemoryTarget;
using peakline::record::Recorder;

extern "C" {

PEAKLINE_EXPORT void peakline_start_tracing() {
    const char* reason = nullptr;
    if (installed().is_on) {
        // Libraries loaded meanwhile may make autograd nodes, too.
        if (installed().has_torch) {
            peakline::preload::hook_torch_imports(&reason);
        } else if (installed().has_cpu) {
            peakline::preload::hook_autograd(&reason);
        }
        peakline::preload::attach_if_waiting();
        Recorder::instance().start_tracing();
        peakline::preload::record_missed_regions();
    }
}

PEAKLINE_EXPORT void peakline_attach_python() {
    if (Recorder::instance().init(nullptr)) {
        peakline::preload::attach_python_side();
    }
}

PEAKLINE_EXPORT void peakline_stop_tracing() {
    Recorder::instance().stop_tracing();
}

PEAKLINE_EXPORT void peakline_reset_peaks() {
    Recorder::instance().reset_peaks();
}

PEAKLINE_EXPORT void peakline_mark(uint32_t kind, const char* name) {
    peakline::preload::mark(static_cast<peakline::format::MarkKind>(kind), name);
}

PEAKLINE_EXPORT int32_t peakline_begin_recorded_steps() {
    return peakline::preload::begin_recorded_steps() ? 1 : 0;
}

PEAKLINE_EXPORT void peakline_end_recorded_steps() {
    peakline::preload::end_recorded_steps();
}

PEAKLINE_EXPORT int32_t peakline_open_trace(const char* path, int32_t replace) {
    peakline::preload::LiveSegments segments;
    peakline::preload::copy_segments(&segments);
    const int error = peakline::preload::open_trace_at(installed(), path, replace != 0);
    if (error == 0) {
        peakline::preload::record_segments(segments);
    }
    return error;
}

PEAKLINE_EXPORT int32_t peakline_expand_trace_name(const char* name_template,
                                                   char* path,
                                                   size_t room) {
    peakline::preload::ProcessNames names{};
    peakline::preload::read_process_names(&names, installed().options.run_id);
    return peakline::preload::expand_trace_name(name_template, names, path, room) ? 1 : 0;
}

PEAKLINE_EXPORT void peakline_close_trace() {
    peakline::preload::say_if_trace_is_lost();
    Recorder::instance().close_trace();
    installed().trace_path[0] = '\0';
}

PEAKLINE_EXPORT int32_t peakline_has_trace() {
    return Recorder::instance().has_trace() ? 1 : 0;
}

PEAKLINE_EXPORT bool peakline_program_bus_action(const struct sigaction* wanted,
                                                 struct sigaction* before) {
    return peakline::record::page_guard::program_action(wanted, before);
}

PEAKLINE_EXPORT void peakline_say(const char* text) {
    peakline::preload::say("%s", text);
}

PEAKLINE_EXPORT int32_t peakline_note(const char* what, const char* text) {
    return peakline::preload::note_for_run(what, text) ? 1 : 0;
}

PEAKLINE_EXPORT size_t peakline_read_file(const char* path, void* bytes, size_t room) {
    return peakline::record::read_file_slow(path, bytes, room);
}

PEAKLINE_EXPORT const char* peakline_trace_path() {
    return installed().trace_path;
}

PEAKLINE_EXPORT int32_t peakline_write_summary(PeaklineSummary* summary) {
    auto* target = new (std::nothrow) MemoryTarget;
    if (target == nullptr ||
        !Recorder::instance().write_summary(target, installed().options.simulated)) {
        delete target;
        return -1;
    }
    *summary = PeaklineSummary{target->data(), target->size(), target};
    return 0;
}

PEAKLINE_EXPORT void peakline_free_summary(PeaklineSummary* summary) {
    delete static_cast<MemoryTarget*>(summary->owner);
    *summary = PeaklineSummary{nullptr, 0, nullptr};
}

PEAKLINE_EXPORT void peakline_status(PeaklineStatus* status) {
    const Installed& state = installed();
    *status = PeaklineStatus{};
    status->is_on = state.is_on ? 1 : 0;
    if (!state.is_on) {
        return;
    }
    Recorder& recorder = Recorder::instance();
    const peakline::record::RecorderCounters counters = recorder.counters();
    status->is_tracing = recorder.is_tracing() ? 1 : 0;
    status->has_python_stacks = state.has_python_stacks ? 1 : 0;
    status->allocator_is_ours =
        state.allocator_is_ours == nullptr || state.allocator_is_ours() ? 1 : 0;
    status->allocs = counters.allocs;
    status->frees = counters.frees;
    status->unknown_frees = counters.unknown_frees;
    status->records_dropped = counters.records_dropped;
    status->bytes_dropped = counters.bytes_dropped;
    status->baseline_corrections = counters.baseline_corrections;
    status->stack_table_full = counters.stack_table_full;
    status->trace_bytes = counters.trace_bytes;
    status->trace_events = counters.trace_events;
    snprintf(status->backend, sizeof status->backend, "%s", state.backend);
    snprintf(status->note, sizeof status->note, "%s", state.note);
}

PEAKLINE_EXPORT uint64_t peakline_device_bytes(uint32_t device, uint32_t measure, int32_t peak) {
    const auto which = static_cast<peakline::format::Measure>(measure);
    Recorder& recorder = Recorder::instance();
    return peak != 0 ? recorder.peak_bytes(device, which) : recorder.level_bytes(device, which);
}

PEAKLINE_EXPORT uint64_t peakline_take_peak_bytes() {
    return Recorder::instance().take_peak_bytes(Recorder::PeakReader::kProgram);
}

PEAKLINE_EXPORT const char* peakline_option_word(const char* option, size_t index) {
    using peakline::preload::kBackends;
    using peakline::preload::kStacks;
    if (strcmp(option, "backend") == 0) {
        return index < std::size(kBackends) ? kBackends[index].name : nullptr;
    }
    const bool is_stacks = strcmp(option, "stacks") == 0;
    return is_stacks && index < std::size(kStacks) ? kStacks[index].name : nullptr;
}

PEAKLINE_EXPORT const char* peakline_job_of_rank() {
    static const peakline::preload::RankInfo info = [] {
        peakline::preload::RankInfo read{};
        peakline::preload::read_rank_info(&read);
        return read;
    }();
    return info.rank[0] != '\0' ? info.job : "";
}

PEAKLINE_EXPORT const char* peakline_keep_problem(const char* text) {
    peakline::record::Keep keep;
    return peakline::preload::parse_keep(text, &keep) ? "" : peakline::preload::kNoKeep;
}

PEAKLINE_EXPORT void peakline_torch_part_name(const char* version,
                                              const char* build,
                                              char* name,
                                              size_t room) {
    peakline::preload::name_of_part(version, build, name, room);
}

PEAKLINE_EXPORT void peakline_cache_folder(PeaklineCacheFolder* found) {
    peakline::preload::choose_cache_folder(getenv("PEAKLINE_CACHE_DIR"),
                                           found->folder,
                                           sizeof found->folder,
                                           found->refusal,
                                           sizeof found->refusal);
}

PEAKLINE_EXPORT void peakline_load_problem(const char* path, char* why, size_t room) {
    if (peakline::preload::may_load(path, why, room)) {
        why[0] = '\0';
    }
}

PEAKLINE_EXPORT void peakline_end_of_process(const void* caller) {
    // os._exit() holds the GIL, so this is the last chance to read names of objects.
    peakline::capture::object_side().run_last_look(caller);
    peakline::preload::end_of_process();
}

}  // extern "C"
