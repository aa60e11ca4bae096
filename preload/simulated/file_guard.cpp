// Keeps checkpoints safe in a simulated run, whose weights are not real: libpeakline_guard.so, libc
// only, preloaded by `peakline run --simulate` unless --allow-writes was given.
//
// A checkpoint is a file by name (is_checkpoint). Once the process has used a device:
//   * one that exists is never changed: what the program writes goes to a hidden file beside it,
//     which the program reads back in its place;
//   * a new one is written, and noted in the file that PEAKLINE_SIM_WRITES names.
// `peakline run` removes the hidden and the new ones when the program has ended. The first of each
// kind is said on stderr. Every function forwards to the real one with at most another path.
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr char kHiddenEnd[] = ".peakline-simulated";

template <class Function>
Function real_function(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) real_function<decltype(&::name)>(#name)

bool ends_with(const char* text, const char* end) {
    const size_t text_length = strlen(text);
    const size_t end_length = strlen(end);
    return text_length >= end_length && strcmp(text + text_length - end_length, end) == 0;
}

const char* base_name(const char* path) {
    const char* const slash = strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

// Weights, and the small files that save_pretrained and trainers put beside them.
bool is_checkpoint(const char* path) {
    constexpr const char* kEnds[] = {
        ".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".distcp", ".pkl", ".index.json"};
    constexpr const char* kNames[] = {"config.json",
                                      "generation_config.json",
                                      "adapter_config.json",
                                      "trainer_state.json",
                                      ".metadata"};
    // Downloads and compilers' caches are not checkpoints.
    if (strstr(path, "/.cache/") != nullptr || strstr(path, "/torchinductor_") != nullptr) {
        return false;
    }
    for (const char* const end : kEnds) {
        if (ends_with(path, end)) {
            return true;
        }
    }
    for (const char* const name : kNames) {
        if (strcmp(base_name(path), name) == 0) {
            return true;
        }
    }
    return false;
}

bool uses_device() {
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

void say_once(bool* said, const char* format, const char* path) {
    if (*said) {
        return;
    }
    *said = true;
    char line[PATH_MAX + 256];
    const int length = snprintf(line, sizeof line, format, path);
    if (length > 0 && write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) {
        return;
    }
}
bool g_said_kept = false;
bool g_said_new = false;
bool g_has_kept = false;

// One path a line: `peakline run` removes these files at the end.
void note_for_removal(const char* path) {
    const char* const notes = getenv("PEAKLINE_SIM_WRITES");
    char absolute[PATH_MAX + 1];
    if (notes == nullptr || notes[0] == '\0') {
        return;
    }
    if (path[0] == '/') {
        snprintf(absolute, sizeof absolute, "%s\n", path);
    } else {
        char folder[PATH_MAX];
        if (getcwd(folder, sizeof folder) == nullptr) {
            return;
        }
        snprintf(absolute, sizeof absolute, "%.2000s/%.2000s\n", folder, path);
    }
    const int file = REAL(open)(notes, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        if (write(file, absolute, strlen(absolute)) < 0) {
            say_once(&g_said_new, "peakline: cannot note %s\n", path);
        }
        close(file);
    }
}

// A file that this run made may be written again: its name is among the notes.
bool was_made_by_this_run(const char* path) {
    const char* const notes = getenv("PEAKLINE_SIM_WRITES");
    FILE* const file = notes != nullptr ? REAL(fopen)(notes, "re") : nullptr;
    char line[PATH_MAX + 2];
    char wanted[PATH_MAX];
    bool found = false;
    if (file == nullptr) {
        return false;
    }
    const bool is_known = realpath(path, wanted) != nullptr;
    while (is_known && !found && fgets(line, sizeof line, file) != nullptr) {
        line[strcspn(line, "\n")] = '\0';
        char noted[PATH_MAX];
        found = realpath(line, noted) != nullptr && strcmp(noted, wanted) == 0;
    }
    fclose(file);
    return found;
}

bool hidden_path(const char* path, char* hidden, size_t room) {
    const char* const name = base_name(path);
    const int length =
        snprintf(hidden, room, "%.*s.%s%s", static_cast<int>(name - path), path, name, kHiddenEnd);
    return length > 0 && static_cast<size_t>(length) < room;
}

bool exists(const char* path) {
    struct stat status {};
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

// The path to use instead. `buffer` has room for PATH_MAX.
const char* redirect(const char* path, bool writes, char* buffer) {
    const int error = errno;
    const char* chosen = path;
    if (path != nullptr && is_checkpoint(path) && !ends_with(path, kHiddenEnd) &&
        hidden_path(path, buffer, PATH_MAX)) {
        if (!writes) {
            chosen = exists(buffer) ? buffer : path;
        } else if (uses_device() && exists(path) && !was_made_by_this_run(path)) {
            if (!exists(buffer)) {
                note_for_removal(buffer);
            }
            say_once(&g_said_kept,
                     "peakline: %s exists and is kept as it is: the values of a simulated run are "
                     "not real (--allow-writes overwrites checkpoints)\n",
                     path);
            chosen = buffer;
        } else if (uses_device() && !exists(path)) {
            note_for_removal(path);
            say_once(&g_said_new,
                     "peakline: %s and other new checkpoints are removed when the program ends: "
                     "their values are not real (--allow-writes keeps them)\n",
                     path);
        }
    }
    errno = error;
    return chosen;
}

bool flags_write(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY;
}

bool mode_writes(const char* mode) {
    return mode != nullptr && (strpbrk(mode, "wa+") != nullptr);
}

mode_t mode_argument(int flags, va_list arguments) {
    const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers begin it
    return has_mode ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

// The path behind a folder's descriptor; nullptr when it cannot be told.
const char* absolute_path(int folder, const char* path, char* buffer) {
    if (folder == AT_FDCWD || path[0] == '/') {
        return path;
    }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    const ssize_t length = readlink(link, buffer, PATH_MAX - 1);
    if (length <= 0) {
        return nullptr;
    }
    const int wanted =
        snprintf(buffer + length, static_cast<size_t>(PATH_MAX - length), "/%s", path);
    return wanted > 0 && wanted < PATH_MAX - length ? buffer : nullptr;
}

// A checkpoint that was there before must not be removed either: true when the removal is over.
bool keeps_from_removal(const char* path, int* result) {
    char hidden[PATH_MAX];
    if (path == nullptr || !exists(path) || redirect(path, true, hidden) == path) {
        return false;
    }
    g_has_kept = true;
    static const auto real = REAL(unlink);
    *result = exists(hidden) ? real(hidden) : 0;
    return true;
}

// A folder with a kept checkpoint stays; the program believes that it is gone.
int removed_folder(int result) {
    return result != 0 && errno == ENOTEMPTY && g_has_kept ? 0 : result;
}

}  // namespace

// For writers that the functions below do not see. buffer: PATH_MAX bytes.
EXPORT const char* peakline_guard_write_path(const char* path, char* buffer) {
    return redirect(path, true, buffer);
}

#define GUARDED_OPEN(name)                                                    \
    EXPORT int name(const char* path, int flags, ...) {                       \
        va_list arguments;                                                    \
        va_start(arguments, flags);                                           \
        const mode_t mode = mode_argument(flags, arguments);                  \
        va_end(arguments);                                                    \
        char buffer[PATH_MAX];                                                \
        static const auto real = REAL(name);                                  \
        return real(redirect(path, flags_write(flags), buffer), flags, mode); \
    }
GUARDED_OPEN(open)
GUARDED_OPEN(open64)

#define GUARDED_OPENAT(name)                                                                    \
    EXPORT int name(int folder, const char* path, int flags, ...) {                             \
        va_list arguments;                                                                      \
        va_start(arguments, flags);                                                             \
        const mode_t mode = mode_argument(flags, arguments);                                    \
        va_end(arguments);                                                                      \
        char buffer[PATH_MAX];                                                                  \
        static const auto real = REAL(name);                                                    \
        const bool is_plain = folder == AT_FDCWD || path[0] == '/';                             \
        return real(                                                                            \
            folder, is_plain ? redirect(path, flags_write(flags), buffer) : path, flags, mode); \
    }
GUARDED_OPENAT(openat)
GUARDED_OPENAT(openat64)

#define GUARDED_FOPEN(name)                                           \
    EXPORT FILE* name(const char* path, const char* mode) {           \
        char buffer[PATH_MAX];                                        \
        static const auto real = REAL(name);                          \
        return real(redirect(path, mode_writes(mode), buffer), mode); \
    }
GUARDED_FOPEN(fopen)
GUARDED_FOPEN(fopen64)

EXPORT int creat(const char* path, mode_t mode) {
    char buffer[PATH_MAX];
    static const auto real = REAL(creat);
    return real(redirect(path, true, buffer), mode);
}

EXPORT int rename(const char* from, const char* to) noexcept {
    char from_buffer[PATH_MAX];
    char to_buffer[PATH_MAX];
    static const auto real = REAL(rename);
    return real(redirect(from, false, from_buffer), redirect(to, true, to_buffer));
}

EXPORT int unlink(const char* path) noexcept {
    static const auto real = REAL(unlink);
    int result = 0;
    return keeps_from_removal(path, &result) ? result : real(path);
}

EXPORT int unlinkat(int folder, const char* path, int flags) noexcept {
    static const auto real = REAL(unlinkat);
    if ((flags & AT_REMOVEDIR) != 0) {
        return removed_folder(real(folder, path, flags));
    }
    char buffer[PATH_MAX];
    int result = 0;
    const bool is_kept = keeps_from_removal(absolute_path(folder, path, buffer), &result);
    return is_kept ? result : real(folder, path, flags);
}

EXPORT int rmdir(const char* path) noexcept {
    static const auto real = REAL(rmdir);
    return removed_folder(real(path));
}
