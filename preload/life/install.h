// Puts the recorder into a process: options, recorder, Python side, torch part, hooks, trace file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/files/file_target.h"
#include "preload/options/keep_option.h"
#include "preload/options/options.h"
#include "preload/peakline_api.h"

namespace peakline::preload {

inline constexpr size_t kMaxNamedDevices = 64;

struct NamedDevice {
    char name[64] = "";
    size_t total_bytes = 0;
};

// What was put in place, for status and for the trace's meta data.
struct Installed {
    bool is_on = false;
    bool has_torch = false;   // its CUDA allocator is recorded
    bool has_cpu = false;     // its CPU allocator
    bool has_driver = false;  // what the driver gives
    bool has_python_stacks = false;
    char backend[32] = "";
    char note[sizeof(PeaklineStatus::note)] = "";
    char lines_missing[48] = "";  // of format::kLinesMissing
    char torch_version[64] = "";
    char torch_build[64] = "";  // see name_torch_build
    char trace_path[kPathBytes] = "";
    bool (*allocator_is_ours)() = nullptr;
    NamedDevice devices[kMaxNamedDevices];
    size_t device_count = 0;
    record::Keep keep;
    mode_t file_mode = record::FileTarget::kPrivate;
    Options options;
};

// The one description of this process's recording. Written while recording is switched on, with
// the GIL held; read afterwards.
Installed& installed();

// Opens the trace the options ask for and writes the meta data. Returns 0, an errno, or less where
// the name is that of a device.
int open_configured_trace(Installed& state);
// The same. A file or folder that cannot be written switches the file off, not the recording in
// memory.
void open_trace_or_say_why();
// Says so when another program removed or replaced the file under us.
void say_if_trace_is_lost();
// The body of peakline_enter().
int32_t enter(int32_t way_in, char* message, size_t room);
int open_trace_at(Installed& state, const char* path, bool replace);

}  // namespace peakline::preload
