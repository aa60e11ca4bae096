// Remembers which file standard error is, before the program's first line: later the descriptor may
// refer to a file of the program. PEAKLINE_STDERR (DEVICE:INODE, hexadecimal) identifies that of
// `peakline run`: no line may go into a pipe between a child and its parent. Part of the preloaded
// library: libc only.
#include "standard_error.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

// Device and inode; zeros if there was none. libpeakline.so looks this symbol up.
extern "C" __attribute__((visibility("default"))) uint64_t peakline_first_standard_error[2];
uint64_t peakline_first_standard_error[2];

namespace {

constexpr int kHexadecimal = 16;

__attribute__((constructor)) void remember_standard_error() {
    uint64_t* const first = peakline_first_standard_error;
    const int errno_before = errno;
    struct stat status {};
    if (const char* given = getenv("PEAKLINE_STDERR"); given != nullptr && *given != '\0') {
        char* colon = nullptr;
        first[0] = strtoull(given, &colon, kHexadecimal);
        first[1] = *colon == ':' ? strtoull(colon + 1, nullptr, kHexadecimal) : 0;
    } else if (fstat(STDERR_FILENO, &status) == 0) {
        first[0] = status.st_dev;
        first[1] = status.st_ino;
    }
    errno = errno_before;
}

}  // namespace

void peakline_complain(const char* what, const char* why) {
    const uint64_t* const first = peakline_first_standard_error;
    struct stat status {};
    if (first[1] == 0 || fstat(STDERR_FILENO, &status) != 0 || status.st_dev != first[0] ||
        status.st_ino != first[1]) {
        return;
    }
    const char* parts[] = {"peakline: ", what, why, "\n"};
    for (const char* part : parts) {
        if (write(STDERR_FILENO, part, strlen(part)) < 0) {
            return;
        }
    }
}
