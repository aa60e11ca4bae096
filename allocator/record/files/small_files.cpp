#include "small_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "own_descriptors.h"

namespace peakline::record {

size_t read_file_slow(const char* path, void* bytes, size_t room) {
    size_t length = 0;
    with_own_descriptors([&] {
        const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (file < 0) {
            return;
        }
        ssize_t got = 0;
        while (length < room &&
               (got = read(file, static_cast<char*>(bytes) + length, room - length)) > 0) {
            length += static_cast<size_t>(got);
        }
        close(file);
    });
    return length;
}

bool append_to_file_slow(const char* path, const void* bytes, size_t length) {
    bool is_written = false;
    with_own_descriptors([&] {
        const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (file >= 0) {
            is_written = write(file, bytes, length) == static_cast<ssize_t>(length);
            close(file);
        }
    });
    return is_written;
}

FileIdentity identity_of(int descriptor) {
    struct stat status {};
    return fstat(descriptor, &status) == 0 ? FileIdentity{status.st_dev, status.st_ino}
                                           : FileIdentity{};
}

bool write_standard_error_slow(const FileIdentity& expected, const void* bytes, size_t length) {
    bool is_written = false;
    with_own_descriptors(
        [&] {
            if (expected.inode != 0 && identity_of(STDERR_FILENO) == expected) {
                is_written = write(STDERR_FILENO, bytes, length) > 0;
            }
        },
        KeptDescriptors::kStandard);
    return is_written;
}

}  // namespace peakline::record
