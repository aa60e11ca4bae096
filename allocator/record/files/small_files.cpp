#include "small_files.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own_descriptors.h"

namespace peakline::record {
namespace {

// Bypasses the C library: in libpeakline_guard.so its functions are the ones that the guard
// replaces.
int open_file(const char* path, int flags) {
    return static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}
ssize_t write_file(int file, const void* bytes, size_t length) {
    return syscall(SYS_write, file, bytes, length);
}

}  // namespace

size_t read_file_slow(const char* path, void* bytes, size_t room) {
    size_t length = 0;
    with_own_descriptors([&] {
        const int file = open_file(path, O_RDONLY);
        if (file < 0) {
            return;
        }
        ssize_t got = 0;
        while (length < room &&
               (got = syscall(SYS_read, file, static_cast<char*>(bytes) + length, room - length)) >
                   0) {
            length += static_cast<size_t>(got);
        }
        syscall(SYS_close, file);
    });
    return length;
}

bool append_to_file_slow(const char* path, const void* bytes, size_t length) {
    bool is_written = false;
    with_own_descriptors([&] {
        const int file = open_file(path, O_WRONLY | O_APPEND | O_NOFOLLOW);
        if (file >= 0) {
            is_written = write_file(file, bytes, length) == static_cast<ssize_t>(length);
            syscall(SYS_close, file);
        }
    });
    return is_written;
}

FileIdentity identity_of(int descriptor) {
    struct stat status {};
    return syscall(SYS_fstat, descriptor, &status) == 0 ? FileIdentity{status.st_dev, status.st_ino}
                                                        : FileIdentity{};
}

FileIdentity first_standard_error() {
    const auto* first =
        static_cast<const uint64_t*>(dlsym(RTLD_DEFAULT, "peakline_first_standard_error"));
    if (first != nullptr) {
        return {first[0], first[1]};
    }
    const char* const given = getenv("PEAKLINE_STDERR");
    if (given == nullptr || *given == '\0') {
        return identity_of(STDERR_FILENO);
    }
    char* colon = nullptr;
    const uint64_t device = strtoull(given, &colon, 16);
    return {device, *colon == ':' ? strtoull(colon + 1, nullptr, 16) : 0};
}

bool write_standard_error_slow(const FileIdentity& expected, const void* bytes, size_t length) {
    bool is_written = false;
    const auto write_if_expected = [&] {
        if (expected.inode != 0 && identity_of(STDERR_FILENO) == expected) {
            is_written = write_file(STDERR_FILENO, bytes, length) > 0;
        }
    };
    // A sandbox may refuse threads: then another thread could still change the descriptor between
    // the check and the write.
    if (with_own_descriptors(write_if_expected, KeptDescriptors::kStandard) != 0) {
        write_if_expected();
    }
    return is_written;
}

}  // namespace peakline::record
