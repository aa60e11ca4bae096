// Replaces the functions of libc that open files or copy between them. Each forwards to the real
// function, possibly with another path.
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "calls.h"
#include "changes.h"
#include "file_states.h"
#include "overlay.h"
#include "saving.h"

namespace {

using peakline::guard::FileState;
using peakline::guard::opened_path;
using peakline::guard::Path;

mode_t mode_argument(int flags, va_list arguments) {
    const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the callers begin it
    return has_mode ? static_cast<mode_t>(va_arg(arguments, unsigned)) : 0;
}

int flags_of_mode(const char* mode) {
    const int access = strchr(mode, '+') != nullptr ? O_RDWR : O_WRONLY;
    const int exclusive = strchr(mode, 'x') != nullptr ? O_EXCL : 0;
    switch (mode[0]) {
        case 'w':
            return access | O_CREAT | O_TRUNC | exclusive;
        case 'a':
            return access | O_CREAT | O_APPEND | exclusive;
        default:
            return access == O_RDWR ? O_RDWR : O_RDONLY;
    }
}

// A copy of a checkpoint without real values is also such a checkpoint.
void note_copy(int from, int to) {
    using namespace peakline::guard;  // NOLINT(google-build-using-namespace)
    const int error = errno;
    char source[PATH_MAX];
    if (has_notes() && path_of_descriptor(from, source)) {
        const FileState state = state_of(source);
        if (state == FileState::kSimulated || state == FileState::kHidden) {
            mark_saved(to);
        }
    }
    errno = error;
}

// For files that a function of libc opens internally, where we cannot intercept it.
int note_made(int file) {
    using namespace peakline::guard;  // NOLINT(google-build-using-namespace)
    const int error = errno;
    char path[PATH_MAX];
    if (file >= 0 && has_notes() && path_of_descriptor(file, path)) {
        set_state(path, FileState::kOwn);
    }
    errno = error;
    return file;
}

template <class Result>
Result no_such_file(Result failure) {
    errno = ENOENT;
    return failure;
}

}  // namespace

#define GUARDED_OPEN(name)                                                                 \
    EXPORT int name(const char* path, int flags, ...) {                                    \
        va_list arguments;                                                                 \
        va_start(arguments, flags);                                                        \
        const mode_t mode = mode_argument(flags, arguments);                               \
        va_end(arguments);                                                                 \
        char buffer[PATH_MAX];                                                             \
        static const auto real = REAL(name);                                               \
        const Path chosen = opened_path(AT_FDCWD, path, flags, buffer);                    \
        return chosen.path != nullptr ? real(chosen.path, flags, mode) : no_such_file(-1); \
    }
GUARDED_OPEN(open)
GUARDED_OPEN(open64)

#define GUARDED_OPENAT(name)                                                          \
    EXPORT int name(int folder, const char* path, int flags, ...) {                   \
        va_list arguments;                                                            \
        va_start(arguments, flags);                                                   \
        const mode_t mode = mode_argument(flags, arguments);                          \
        va_end(arguments);                                                            \
        char buffer[PATH_MAX];                                                        \
        static const auto real = REAL(name);                                          \
        const Path chosen = opened_path(folder, path, flags, buffer);                 \
        return chosen.path != nullptr ? real(chosen.folder, chosen.path, flags, mode) \
                                      : no_such_file(-1);                             \
    }
GUARDED_OPENAT(openat)
GUARDED_OPENAT(openat64)

#define GUARDED_FOPEN(name)                                                                     \
    EXPORT FILE* name(const char* path, const char* mode) {                                     \
        char buffer[PATH_MAX];                                                                  \
        static const auto real = REAL(name);                                                    \
        const Path chosen = opened_path(AT_FDCWD, path, flags_of_mode(mode), buffer);           \
        return chosen.path != nullptr ? real(chosen.path, mode) : no_such_file<FILE*>(nullptr); \
    }
GUARDED_FOPEN(fopen)
GUARDED_FOPEN(fopen64)

#define GUARDED_CREAT(name)                                                                    \
    EXPORT int name(const char* path, mode_t mode) {                                           \
        char buffer[PATH_MAX];                                                                 \
        static const auto real = REAL(name);                                                   \
        const Path chosen = opened_path(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, buffer); \
        return chosen.path != nullptr ? real(chosen.path, mode) : no_such_file(-1);            \
    }
GUARDED_CREAT(creat)
GUARDED_CREAT(creat64)

#define GUARDED_TRUNCATE(name)                                                       \
    EXPORT int name(const char* path, off_t bytes) noexcept {                        \
        char buffer[PATH_MAX];                                                       \
        static const auto real = REAL(name);                                         \
        const Path chosen = opened_path(AT_FDCWD, path, O_WRONLY, buffer);           \
        return chosen.path != nullptr ? real(chosen.path, bytes) : no_such_file(-1); \
    }
GUARDED_TRUNCATE(truncate)
GUARDED_TRUNCATE(truncate64)

#define GUARDED_MKSTEMP(name)                \
    EXPORT int name(char* pattern) {         \
        static const auto real = REAL(name); \
        return note_made(real(pattern));     \
    }
GUARDED_MKSTEMP(mkstemp)
GUARDED_MKSTEMP(mkstemp64)

#define GUARDED_SENDFILE(name)                                                    \
    EXPORT ssize_t name(int to, int from, off_t* offset, size_t bytes) noexcept { \
        static const auto real = REAL(name);                                      \
        note_copy(from, to);                                                      \
        return real(to, from, offset, bytes);                                     \
    }
GUARDED_SENDFILE(sendfile)
GUARDED_SENDFILE(sendfile64)

EXPORT ssize_t copy_file_range(
    int from, off64_t* from_offset, int to, off64_t* to_offset, size_t bytes, unsigned flags) {
    static const auto real = REAL(copy_file_range);
    note_copy(from, to);
    return real(from, from_offset, to, to_offset, bytes, flags);
}
