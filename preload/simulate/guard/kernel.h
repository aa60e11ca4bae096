// The guard's own system calls. They bypass libc, because the guard replaces its functions.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace peakline::guard::kernel {

inline int open(const char* path, int flags, mode_t mode = 0) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}
// Does not follow a link as the last part.
inline bool lstat(const char* path, struct stat* status) {
    return syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW) == 0;
}
inline bool stat(const char* path, struct stat* status) {
    return syscall(SYS_newfstatat, AT_FDCWD, path, status, 0) == 0;
}
inline ssize_t readlink(const char* path, char* target, size_t room) {
    return syscall(SYS_readlink, path, target, room);
}
inline int rename(const char* from, const char* to) {
    return static_cast<int>(syscall(SYS_rename, from, to));
}
inline int unlink(const char* path) {
    return static_cast<int>(syscall(SYS_unlink, path));
}
inline int symlink(const char* target, const char* path) {
    return static_cast<int>(syscall(SYS_symlink, target, path));
}
inline ssize_t copy_file_range(int from, int to, size_t bytes) {
    return syscall(SYS_copy_file_range, from, nullptr, to, nullptr, bytes, 0U);
}

// These test the name itself: both are false for a link.
inline bool is_regular(const char* path) {
    struct stat status {};
    return kernel::lstat(path, &status) && S_ISREG(status.st_mode);
}
inline bool is_folder(const char* path) {
    struct stat status {};
    return kernel::lstat(path, &status) && S_ISDIR(status.st_mode);
}
inline bool exists(const char* path) {
    struct stat status {};
    return kernel::lstat(path, &status);
}

}  // namespace peakline::guard::kernel
