#include "install.h"

#include <cstdio>
#include <cstring>
#include <new>

#include <dlfcn.h>

#include "allocator/capture/native_stack.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/record/recorder.h"
#include "late_python.h"
#include "life_cycle.h"
#include "open_marks.h"
#include "open_trace.h"
#include "preload/device/driver_recording.h"
#include "preload/hooks/saved_hook.h"
#include "preload/hooks/torch_hooks.h"
#include "preload/options/messages.h"
#include "preload/options/option_words.h"
#include "preload/options/trace_name.h"
#include "preload/peakline_api.h"
#include "preload/regions/autograd_hooks.h"
#include "recorded_steps.h"
#include "torch_library.h"
#include "value_reads.h"

namespace peakline::preload {

Installed& installed() {
    alignas(Installed) static unsigned char storage[sizeof(Installed)];
    static Installed* state = new (storage) Installed;
    return *state;
}

namespace {

using record::Recorder;

void on_trouble(const char* what, int error) {
    char text[128];
    // This is the GNU strerror_r, which may return its own constant text.
    say("%s: %s (the program goes on; peaks in this process stay exact)",
        what,
        strerror_r(error, text, sizeof text));
}

// Reads name and size of every device from the driver, which torch has already initialised. Neither
// call creates a context. This runs while recording is switched on: the trace may later be opened
// under torch's lock, where the loader must not be called.
void read_devices(Installed& state) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
    if (driver == nullptr) {
        return;
    }
    const auto count_devices = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
    const auto get_name =
        reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
    const auto get_bytes =
        reinterpret_cast<int (*)(size_t*, int)>(dlsym(driver, "cuDeviceTotalMem_v2"));
    int count = 0;
    if (count_devices == nullptr || get_name == nullptr || get_bytes == nullptr ||
        count_devices(&count) != 0) {
        return;
    }
    for (int i = 0; i < count && i < static_cast<int>(kMaxNamedDevices); ++i) {
        NamedDevice& device = state.devices[i];
        if (get_name(device.name, sizeof device.name, i) != 0) {
            device.name[0] = '\0';
        }
        if (get_bytes(&device.total_bytes, i) != 0) {
            device.total_bytes = 0;
        }
        state.device_count = static_cast<size_t>(i) + 1;
    }
}

bool set_up_recorder(const Options& options) {
    if (!Recorder::instance().init(on_trouble) || !capture::init_native_stacks()) {
        return false;
    }
    const StacksWord* row = find_word(kStacks, options.stacks);
    if (row == nullptr) {
        char known[64];
        list_words(kStacks, known, sizeof known);
        row = &kStacks[0];
        say("PEAKLINE_STACKS=%s is not known (%s): recording %s stacks",
            options.stacks,
            known,
            row->name);
    }
    capture::set_capture_options(
        capture::CaptureOptions{row->python, row->native, is_switched_on(options.frees)});
    if (is_switched_on(options.saved)) {
        want_saved_tensors();
    }
    return true;
}

void set_keep(Installed& state) {
    if (!parse_keep(state.options.keep, &state.keep)) {
        say("PEAKLINE_KEEP=%s %s: keeping all", state.options.keep, kNoKeep);
        snprintf(state.options.keep, sizeof state.options.keep, "all");
    }
}

void set_file_mode(Installed& state) {
    const char* const given = state.options.file_mode;
    if (given[0] != '\0' && !parse_file_mode(given, &state.file_mode)) {
        say("PEAKLINE_FILE_MODE=%s is not a mode such as 0640: only you can read traces", given);
    }
}

void announce_note(const Installed& state) {
    if (state.note[0] != '\0') {
        say("recording with the '%s' backend: %s", state.backend, state.note);
    }
}

// The caller reports it, because it knows how many bytes there are already.
void note_late_start(Installed& state, bool is_late) {
    if (is_late && state.note[0] == '\0') {
        snprintf(state.note,
                 sizeof state.note,
                 "CUDA was already initialised: torch's allocator is observed");
    }
}

bool set_up(Installed& state, char* message, size_t room) {
    read_options(&state.options);
    set_keep(state);
    set_file_mode(state);
    if (!set_up_recorder(state.options)) {
        snprintf(message, room, "no memory for the recorder's tables");
        return false;
    }
    return true;
}

bool add_torch(Installed& state, int32_t way_in, bool* is_late, char* message, size_t room) {
    if (way_in == kPeaklinePluggable) {
        snprintf(state.options.backend, sizeof state.options.backend, "observe");
    }
    if (!install_torch_part(state, is_late, message, room)) {
        return false;
    }
    *is_late = *is_late && way_in == kPeaklineSwitchAllocator;
    leave_blocks_to_torch();
    if (!*is_late) {
        Recorder::instance().adopt(nullptr, 0);  // torch's totals show what there is
    }
    if (way_in == kPeaklinePluggable) {
        snprintf(state.backend, sizeof state.backend, "pluggable:malloc");
    } else {
        announce_note(state);
        note_late_start(state, *is_late);
    }
    state.has_torch = true;
    return true;
}

// NCCL may call the driver before torch's allocator is installed. Its memory is not a block of
// torch.
void leave_blocks_to_torch_if_loaded() {
    if (torch_is_loaded()) {
        leave_blocks_to_torch();
    }
}

// Records CPU tensors if the options request it and they are not recorded yet. Returns false if
// that is impossible.
bool add_cpu(Installed& state, char* message, size_t room) {
    if (!state.has_cpu && is_switched_on(state.options.cpu)) {
        state.has_cpu = install_cpu(state, message, room);
    }
    return state.has_cpu || !is_switched_on(state.options.cpu);
}

// If CPU tensors cannot be recorded, the recording of CUDA goes on.
void add_cpu_or_say_why(Installed& state, char* message, size_t room) {
    if (!add_cpu(state, message, room)) {
        say("not recording %s", message);
        message[0] = '\0';
    }
}

void add_driver(Installed& state) {
    if (!state.has_driver) {
        state.has_driver = true;
        listen_to_driver();
        call_after_steps(sample_after_phase);
    }
}

// Recording is on already, and a further part is added.
int32_t enter_again(Installed& state, int32_t way_in, char* message, size_t room) {
    bool is_late = false;
    if (way_in != kPeaklineDriver) {
        add_cpu_or_say_why(state, message, room);
    }
    if (way_in == kPeaklineCpu || (state.has_torch && state.has_driver)) {
        return kPeaklineAlreadyOn;
    }
    if (state.device_count == 0) {
        read_devices(state);
    }
    if (way_in != kPeaklineDriver && !state.has_torch &&
        !add_torch(state, way_in, &is_late, message, room)) {
        return kPeaklineFailed;
    }
    add_driver(state);
    restate_torch_meta(state);
    return is_late ? kPeaklineLate : kPeaklineOk;
}

}  // namespace

int32_t enter(int32_t way_in, char* message, size_t room) {
    Installed& state = installed();
    message[0] = '\0';
    if (state.is_on) {
        return enter_again(state, way_in, message, room);
    }
    if (!set_up(state, message, room)) {
        return kPeaklineFailed;
    }
    bool is_late = false;
    if (way_in == kPeaklineDriver) {
        snprintf(state.backend, sizeof state.backend, "driver");
        leave_blocks_to_torch_if_loaded();
    } else if (way_in == kPeaklineCpu) {
        snprintf(state.backend, sizeof state.backend, "cpu");
        if (!add_cpu(state, message, room)) {
            return kPeaklineFailed;
        }
        announce_note(state);
    } else if (!add_torch(state, way_in, &is_late, message, room)) {
        return kPeaklineFailed;
    }
    if (way_in != kPeaklineDriver) {
        add_cpu_or_say_why(state, message, room);
    }
    attach_python_side();
    read_devices(state);
    set_up_value_reads(state);
    watch_life_cycle();
    state.is_on = true;
    if (way_in == kPeaklinePreload || way_in == kPeaklineDriver || way_in == kPeaklineCpu) {
        note_for_run("on", "");
        if (!waits_for_steps(state.options)) {
            // The trace opens at the first record: many processes initialise CUDA and allocate
            // nothing.
            Recorder::instance().open_at_first_record(open_trace_or_say_why);
            peakline_start_tracing();
        }
    }
    if (way_in != kPeaklineCpu) {
        add_driver(state);
    }
    record_early_marks();
    return is_late ? kPeaklineLate : kPeaklineOk;
}

}  // namespace peakline::preload

extern "C" __attribute__((visibility("default"))) int32_t peakline_enter(int32_t way_in,
                                                                         char* message,
                                                                         size_t room) {
    return peakline::preload::enter(way_in, message, room);
}
