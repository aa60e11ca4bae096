#include "open_trace.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include "allocator/capture/stack_capture.h"
#include "allocator/record/recorder.h"
#include "late_python.h"
#include "open_marks.h"
#include "preload/device/driver_recording.h"
#include "preload/hooks/allocator_calls.h"
#include "preload/hooks/saved_hook.h"
#include "preload/options/messages.h"
#include "preload/options/trace_name.h"
#include "recorded_steps.h"

#ifndef PEAKLINE_VERSION
#    define PEAKLINE_VERSION "unknown"
#endif

namespace peakline::preload {
namespace {

using record::FileTarget;
using record::Recorder;

constexpr unsigned kMaxNumberedNames = 1000;
constexpr int kNoRegularFile = -1;  // not an errno: /dev/null means no trace

void put_meta(const char* key, const char* value) {
    if (value[0] != '\0') {
        Recorder::instance().put_meta(key, value, strlen(value));
    }
}

void parse_run_id(const char* hex, unsigned char* uuid) {
    memset(uuid, 0, 16);
    if (strlen(hex) != 32 || strspn(hex, "0123456789abcdef") != 32) {
        return;
    }
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i < 16; ++i) {
        uuid[i] = static_cast<unsigned char>(digit(hex[2 * i]) * 16 + digit(hex[2 * i + 1]));
    }
}

void put_device_meta(const Installed& state) {
    for (size_t i = 0; i < state.device_count; ++i) {
        char key[48];
        char value[32];
        snprintf(key, sizeof key, "device.%zu.name", i);
        put_meta(key, state.devices[i].name);
        snprintf(key, sizeof key, "device.%zu.total_bytes", i);
        snprintf(value, sizeof value, "%zu", state.devices[i].total_bytes);
        put_meta(key, value);
    }
}

// Same precedence as in torch: if both are set, only the first counts.
void put_allocator_settings() {
    for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
        if (const char* const settings = getenv(name)) {
            put_meta("allocator_settings", settings);
            return;
        }
    }
}

void put_all_meta(const Installed& state, const ProcessNames& names) {
    char folder[kPathBytes];
    put_meta("peakline_version", PEAKLINE_VERSION);
    put_meta("script", names.script);
    put_meta("host", names.host);
    put_meta("rank", names.rank_info.rank);
    put_meta("local_rank", names.rank_info.local_rank);
    put_meta("world_size", names.rank_info.world_size);
    put_meta("attempt", names.rank_info.attempt);
    put_meta("job", names.rank_info.job);
    put_meta("argv", is_switched_on(state.options.no_command) ? "" : names.command);
    put_meta("executable", names.executable);
    put_meta("python_version", capture::python_side().version());
    put_meta("torch_version", state.torch_version);
    put_meta("backend", state.backend);
    put_meta("stacks", state.options.stacks);
    put_meta("keep", state.options.keep);
    put_meta("recorded_steps", recorded_steps(state.options));
    put_meta("frees", is_switched_on(state.options.frees) ? "stacks" : "");
    put_meta("cpu", state.has_cpu ? "blocks" : "");
    put_meta("simulated", state.options.simulated);
    put_allocator_settings();
    put_meta("note", state.note);
    put_meta(format::kLinesMissing,
             capture::waits_for_python() ? format::kLinesMissingYet : state.lines_missing);
    // File names in stacks are relative to the folder where the program was started.
    if (state.options.start_folder[0] != '\0') {
        put_meta("working_directory", state.options.start_folder);
    } else if (getcwd(folder, sizeof folder) != nullptr) {
        put_meta("working_directory", folder);
    }
    put_device_meta(state);
}

}  // namespace

int open_trace_at(Installed& state, const char* path, bool replace) {
    ProcessNames names{};
    read_process_names(&names, state.options.run_id);
    snprintf(state.trace_path, sizeof state.trace_path, "%s", path);
    int error = make_parent_folders(path);
    if (error != 0) {
        return error;
    }
    Recorder::TraceOptions options{};
    options.path = path;
    options.exists = replace ? FileTarget::Exists::kReplace : FileTarget::Exists::kFail;
    options.keep = state.keep;
    options.mode = state.file_mode;
    parse_run_id(state.options.run_id, options.run_uuid);
    error = Recorder::instance().open_trace(options);
    memcpy(state.trace_path, Recorder::instance().trace_path(), sizeof state.trace_path);
    if (error == 0) {
        put_all_meta(state, names);
        if (state.has_torch && misses_saved_tensors()) {
            say("what autograd saves is not visible here: --saved records nothing, all else is"
                " recorded");
        }
        restate_marks();
        restate_allocator_calls();
        restate_driver();
    }
    return error;
}

namespace {

// Returns 0, an errno, or kNoRegularFile.
int open_configured_trace(Installed& state) {
    ProcessNames names{};
    read_process_names(&names, state.options.run_id);
    char first[kPathBytes];
    char path[kPathBytes];
    if (!expand_trace_name(state.options.output, names, first, sizeof first)) {
        return ENAMETOOLONG;
    }
    if (is_device_file(first)) {
        snprintf(state.trace_path, sizeof state.trace_path, "%s", first);
        return kNoRegularFile;
    }
    snprintf(path, sizeof path, "%s", first);
    for (unsigned number = 2; number < kMaxNumberedNames; ++number) {
        const int error = open_trace_at(state, path, false);
        if (error != EEXIST) {
            return error;
        }
        if (!numbered_name(first, number, path, sizeof path)) {
            return ENAMETOOLONG;
        }
    }
    return EEXIST;
}

}  // namespace

void open_trace_or_say_why() {
    Installed& state = installed();
    const int error = open_configured_trace(state);
    if (error == kNoRegularFile) {
        say("%s is not a regular file: no trace is written", state.trace_path);
    } else if (error != 0) {
        char text[128];
        say("cannot write the trace %s: %s. Name another file with -o or PEAKLINE_OUTPUT. The "
            "program runs on without a trace.",
            state.trace_path,
            strerror_r(error, text, sizeof text));
    }
    if (error != 0) {
        note_for_run("unwritten", state.trace_path);
        state.trace_path[0] = '\0';
    }
}

void say_if_trace_is_lost() {
    switch (Recorder::instance().trace_loss()) {
        case FileTarget::Loss::kNone:
            return;
        case FileTarget::Loss::kTruncated:
            say("%s was truncated by another program while it was recorded: it ends there. Record "
                "again to a name of its own (-o NAME.%%p.peak)",
                installed().trace_path);
            break;
        case FileTarget::Loss::kMoved:
            say("%s was removed, renamed or replaced by another program while it was recorded: "
                "this recording is lost, or ends where it was renamed. Record again to a name of "
                "its own (-o NAME.%%p.peak)",
                installed().trace_path);
            break;
    }
    note_for_run("lost", installed().trace_path);
}

void restate_torch_meta(const Installed& state) {
    put_meta("torch_version", state.torch_version);
    put_meta("backend", state.backend);
    put_meta("note", state.note);
    put_meta("cpu", state.has_cpu ? "blocks" : "");
    put_allocator_settings();
    put_device_meta(state);
}

}  // namespace peakline::preload
