// Installs the recorder into a process: options, recorder, Python side, torch part, hooks.
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

// The installed parts, for status and for the trace's metadata.
struct Installed {
    bool is_on = false;
    bool has_torch = false;   // torch's CUDA allocator is recorded
    bool has_cpu = false;     // torch's CPU allocator is recorded
    bool has_driver = false;  // driver memory is recorded
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

// The one description of this process's recording. Written while recording is switched on, with the
// GIL held; only read afterwards.
Installed& installed();

// The body of peakline_enter().
int32_t enter(int32_t way_in, char* message, size_t room);

}  // namespace peakline::preload
