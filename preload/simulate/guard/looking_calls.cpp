// Replaces the functions of libc that look up files by name: the program finds files it wrote, and
// not files it removed. Each forwards to the real function, possibly with another path.
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "changes.h"
#include "file_states.h"
#include "overlay.h"

using peakline::guard::FileState;
using peakline::guard::Path;
using peakline::guard::read_path;

// Functions that older libraries call. No header declares them any more.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of libc
extern "C" {
int __xstat(int version, const char* path, struct stat* status);
int __xstat64(int version, const char* path, struct stat64* status);
int __lxstat(int version, const char* path, struct stat* status);
int __lxstat64(int version, const char* path, struct stat64* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);
int __fxstatat64(int version, int folder, const char* path, struct stat64* status, int flags);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

// CHOSEN(folder, path, whether links are followed, call of the real function with `chosen`).
#define LOOK(name, folder, path, follows, call)                   \
    char buffer[PATH_MAX];                                        \
    static const auto real = REAL(name);                          \
    const Path chosen = read_path(folder, path, follows, buffer); \
    if (chosen.path == nullptr) {                                 \
        errno = ENOENT;                                           \
        return -1;                                                \
    }                                                             \
    return call

EXPORT int stat(const char* path, struct stat* status) noexcept {
    LOOK(stat, AT_FDCWD, path, true, real(chosen.path, status));
}
EXPORT int stat64(const char* path, struct stat64* status) noexcept {
    LOOK(stat64, AT_FDCWD, path, true, real(chosen.path, status));
}
EXPORT int lstat(const char* path, struct stat* status) noexcept {
    LOOK(lstat, AT_FDCWD, path, false, real(chosen.path, status));
}
EXPORT int lstat64(const char* path, struct stat64* status) noexcept {
    LOOK(lstat64, AT_FDCWD, path, false, real(chosen.path, status));
}
EXPORT int __xstat(int version, const char* path, struct stat* status) {
    LOOK(__xstat, AT_FDCWD, path, true, real(version, chosen.path, status));
}
EXPORT int __xstat64(int version, const char* path, struct stat64* status) {
    LOOK(__xstat64, AT_FDCWD, path, true, real(version, chosen.path, status));
}
EXPORT int __lxstat(int version, const char* path, struct stat* status) {
    LOOK(__lxstat, AT_FDCWD, path, false, real(version, chosen.path, status));
}
EXPORT int __lxstat64(int version, const char* path, struct stat64* status) {
    LOOK(__lxstat64, AT_FDCWD, path, false, real(version, chosen.path, status));
}

namespace {
bool follows(int flags) {
    return (flags & AT_SYMLINK_NOFOLLOW) == 0;
}
}  // namespace

EXPORT int fstatat(int folder, const char* path, struct stat* status, int flags) noexcept {
    LOOK(fstatat, folder, path, follows(flags), real(chosen.folder, chosen.path, status, flags));
}
EXPORT int fstatat64(int folder, const char* path, struct stat64* status, int flags) noexcept {
    LOOK(fstatat64, folder, path, follows(flags), real(chosen.folder, chosen.path, status, flags));
}
EXPORT int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags) {
    LOOK(__fxstatat,
         folder,
         path,
         follows(flags),
         real(version, chosen.folder, chosen.path, status, flags));
}
EXPORT int __fxstatat64(
    int version, int folder, const char* path, struct stat64* status, int flags) {
    LOOK(__fxstatat64,
         folder,
         path,
         follows(flags),
         real(version, chosen.folder, chosen.path, status, flags));
}
EXPORT int statx(
    int folder, const char* path, int flags, unsigned mask, struct statx* status) noexcept {
    LOOK(
        statx, folder, path, follows(flags), real(chosen.folder, chosen.path, flags, mask, status));
}
EXPORT int access(const char* path, int mode) noexcept {
    LOOK(access, AT_FDCWD, path, true, real(chosen.path, mode));
}
EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
    LOOK(faccessat, folder, path, follows(flags), real(chosen.folder, chosen.path, mode, flags));
}
EXPORT ssize_t readlink(const char* path, char* target, size_t room) noexcept {
    LOOK(readlink, AT_FDCWD, path, false, real(chosen.path, target, room));
}
EXPORT ssize_t readlinkat(int folder, const char* path, char* target, size_t room) noexcept {
    LOOK(readlinkat, folder, path, false, real(chosen.folder, chosen.path, target, room));
}

// These change attributes of the same file that the program would see.
EXPORT int chmod(const char* path, mode_t mode) noexcept {
    LOOK(chmod, AT_FDCWD, path, true, real(chosen.path, mode));
}
EXPORT int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
    LOOK(fchmodat, folder, path, follows(flags), real(chosen.folder, chosen.path, mode, flags));
}
EXPORT int utimensat(int folder,
                     const char* path,
                     const struct timespec times[2],
                     int flags) noexcept {
    LOOK(utimensat, folder, path, follows(flags), real(chosen.folder, chosen.path, times, flags));
}

EXPORT DIR* opendir(const char* path) {
    char buffer[PATH_MAX];
    static const auto real = REAL(opendir);
    const Path chosen = read_path(AT_FDCWD, path, true, buffer);
    if (chosen.path == nullptr) {
        errno = ENOENT;
        return nullptr;
    }
    return real(chosen.path);
}

namespace {

// A hidden file is not listed under its own name, and a removed file is not listed.
bool is_listed(DIR* folder, const char* name) {
    using namespace peakline::guard;  // NOLINT(google-build-using-namespace)
    if (!has_notes() || is_hidden_name(name)) {
        return !has_notes();
    }
    const int error = errno;
    bool is_removed = false;
    char path[PATH_MAX];
    if (has_redirections() && path_of_descriptor(dirfd(folder), path)) {
        const size_t length = strlen(path);
        const int wanted = snprintf(path + length, sizeof path - length, "/%s", name);
        is_removed = wanted > 0 && static_cast<size_t>(wanted) < sizeof path - length &&
                     state_of(path) == FileState::kRemoved;
    }
    errno = error;
    return !is_removed;
}

}  // namespace

#define GUARDED_READDIR(name, type)                                     \
    EXPORT struct type* name(DIR* folder) {                             \
        static const auto real = REAL(name);                            \
        struct type* entry = real(folder);                              \
        while (entry != nullptr && !is_listed(folder, entry->d_name)) { \
            entry = real(folder);                                       \
        }                                                               \
        return entry;                                                   \
    }
GUARDED_READDIR(readdir, dirent)
GUARDED_READDIR(readdir64, dirent64)
