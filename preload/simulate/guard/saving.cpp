// The functions that the Python part and the companion of the simulated GPU call.
#include "saving.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

#include "allocator/record/files/small_files.h"
#include "allocator/record/format/unsafe_text.h"
#include "changes.h"
#include "checkpoint_files.h"
#include "file_states.h"
#include "kernel.h"
#include "overlay.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace peakline::guard {
namespace {

constexpr char kUsesDevice[] = "uses a device";

// Calls of this thread that have not returned.
thread_local int g_saving = 0;
thread_local int g_removing = 0;

bool this_process_uses_device() {
    static int (*device_memory)(int, size_t*, size_t*) = nullptr;
    if (device_memory == nullptr) {
        device_memory = reinterpret_cast<decltype(device_memory)>(
            dlsym(RTLD_DEFAULT, "peakline_sim_device_memory"));
    }
    size_t used = 0;
    size_t capacity = 0;
    for (int device = 0; device_memory != nullptr && device_memory(device, &used, &capacity) == 0;
         ++device) {
        if (used > 0) {
            return true;
        }
    }
    return false;
}

void say(const char* format, const char* path) {
    char line[PATH_MAX + 256];
    const int wanted = snprintf(line, sizeof line, format, path);
    if (wanted <= 0) {
        return;
    }
    size_t length = std::min(static_cast<size_t>(wanted), sizeof line - 2);
    length = format::make_printable(line, length);
    line[length++] = '\n';
    record::write_standard_error_slow(record::first_standard_error(), line, length);
}

}  // namespace

bool is_saving() {
    return g_saving > 0;
}

bool is_removing_checkpoints() {
    return g_removing > 0;
}

bool values_are_simulated() {
    if (has_fact(kUsesDevice)) {
        return true;
    }
    if (!this_process_uses_device()) {
        return false;
    }
    note_fact(kUsesDevice);
    return true;
}

void mark_saved(int descriptor) {
    Resolved file;
    if (!has_notes() || !path_of_descriptor(descriptor, file.path) || !values_are_simulated() ||
        is_in_cache(file.path)) {
        return;
    }
    file.state = state_of(file.path);
    if (file.state == FileState::kHiddenOwn) {
        set_state(file.path, FileState::kHidden);
        say_kept(file.path);
    } else if (file.state == FileState::kOwn) {
        set_state(file.path, FileState::kSimulated);
        say_new(file.path);
    }
}

void say_kept(const char* path) {
    if (note_fact("a kept file is reported")) {
        say("peakline: %s exists and stays unchanged: the values of a simulated run are not real "
            "(--allow-writes overwrites checkpoints)",
            path);
    }
}

void say_new(const char* path) {
    if (note_fact("a new file is reported")) {
        say("peakline: %s and other new checkpoints are removed when the program ends: their "
            "values are not real (--allow-writes keeps them)",
            path);
    }
}

}  // namespace peakline::guard

using namespace peakline::guard;  // NOLINT(google-build-using-namespace)

EXPORT void peakline_guard_begin_save() {
    ++g_saving;
}

EXPORT void peakline_guard_end_save() {
    --g_saving;
}

EXPORT void peakline_guard_begin_removal() {
    ++g_removing;
}

EXPORT void peakline_guard_end_removal() {
    --g_removing;
}

EXPORT void peakline_guard_saves_to(int descriptor) {
    const int error = errno;
    mark_saved(descriptor);
    errno = error;
}

// A checkpoint in memory, "LENGTH:CRC32". A file with this content is a checkpoint, too.
EXPORT void peakline_guard_saved_in_memory(const char* digest) {
    if (has_notes() && values_are_simulated()) {
        char fact[128];
        snprintf(fact, sizeof fact, "saved in memory %s", digest);
        note_fact(fact);
    }
}

EXPORT void peakline_guard_device_used() {
    if (has_notes()) {
        note_fact(kUsesDevice);
    }
}

// For writers that make their own system calls: returns the path to write. buffer: PATH_MAX bytes.
EXPORT const char* peakline_guard_write_path(const char* path, char* buffer) {
    return opened_path(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, buffer).path;
}

// Whether this checkpoint existed before the run.
EXPORT int peakline_guard_is_real_checkpoint(const char* path) {
    Resolved file;
    return has_notes() && values_are_simulated() &&
                   resolve(AT_FDCWD, path, LastLink::kFollow, &file) &&
                   file.state == FileState::kNone &&
                   (is_checkpoint_name(file.path) || holds_checkpoint(file.actual))
               ? 1
               : 0;
}
