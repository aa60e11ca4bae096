// Replaces the functions of libc that change names: rename, unlink, mkdir and related ones.
#include <cerrno>
#include <climits>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls.h"
#include "changes.h"

using namespace peakline::guard;  // NOLINT(google-build-using-namespace): a border to libc

EXPORT int rename(const char* from, const char* to) noexcept {
    return rename_file(AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return rename_file(from_folder, from, to_folder, to);
}

EXPORT int renameat2(
    int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
    static const auto real = REAL(renameat2);
    return flags == 0 || real == nullptr ? rename_file(from_folder, from, to_folder, to)
                                         : real(from_folder, from, to_folder, to, flags);
}

EXPORT int link(const char* from, const char* to) noexcept {
    return link_file(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORT int linkat(
    int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
    return link_file(from_folder, from, to_folder, to, flags);
}

EXPORT int symlink(const char* target, const char* path) noexcept {
    return symlink_file(target, AT_FDCWD, path);
}

EXPORT int symlinkat(const char* target, int folder, const char* path) noexcept {
    return symlink_file(target, folder, path);
}

EXPORT int unlink(const char* path) noexcept {
    return unlink_file(AT_FDCWD, path);
}

EXPORT int unlinkat(int folder, const char* path, int flags) noexcept {
    return (flags & AT_REMOVEDIR) != 0 ? remove_folder(folder, path) : unlink_file(folder, path);
}

EXPORT int rmdir(const char* path) noexcept {
    return remove_folder(AT_FDCWD, path);
}

EXPORT int remove(const char* path) noexcept {
    const int result = unlink_file(AT_FDCWD, path);
    return result != 0 && errno == EISDIR ? remove_folder(AT_FDCWD, path) : result;
}

EXPORT int mkdir(const char* path, mode_t mode) noexcept {
    return make_folder(AT_FDCWD, path, mode);
}

EXPORT int mkdirat(int folder, const char* path, mode_t mode) noexcept {
    return make_folder(folder, path, mode);
}
