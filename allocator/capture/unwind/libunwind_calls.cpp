// libunwind writes a byte from every doubtful address into a pipe, to test whether the address is
// readable, and opens the files of libraries for unknown frames. The program could close these
// descriptors, or reuse their numbers for its own files. So this file replaces these calls of our
// copy, and a system call without a descriptor does the check.
#include "libunwind_calls.h"

#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/capture/libraries/got_patch.h"

namespace peakline::capture {
namespace {

constexpr int kNoSuchHow = -1;

// rt_sigprocmask reads the set before it refuses the invalid `how`.
bool is_readable(long address) {
    constexpr long kSetBytes = sizeof(uint64_t);
    const long aligned = address & ~(kSetBytes - 1);
    return syscall(SYS_rt_sigprocmask, kNoSuchHow, aligned, nullptr, kSetBytes) == 0 ||
           errno != EFAULT;
}

// Replaces write(pipe, address, 1).
long call_kernel(long number, long a, long b, long c, long d, long e, long f) {
    if (number == SYS_write) {
        const bool may_read = is_readable(b);
        errno = may_read ? 0 : EFAULT;
        return may_read ? 1 : -1;
    }
    return syscall(number, a, b, c, d, e, f);
}

int make_no_pipe(int*, int) {
    errno = ENOSYS;
    return -1;
}

// Reading finds the pipe empty.
ssize_t read_nothing(int, void*, size_t) {
    errno = EAGAIN;
    return -1;
}

int close_nothing(int) {
    return 0;
}

int open_nothing(const char*, int, ...) {
    errno = ENOENT;
    return -1;
}

}  // namespace

void lead_libunwind_calls() {
    const struct {
        const char* symbol;
        void* function;
    } calls[] = {
        {"pipe2", reinterpret_cast<void*>(make_no_pipe)},
        {"syscall", reinterpret_cast<void*>(call_kernel)},
        {"read", reinterpret_cast<void*>(read_nothing)},
        {"close", reinterpret_cast<void*>(close_nothing)},
        {"open", reinterpret_cast<void*>(open_nothing)},
    };
    for (const auto& call : calls) {
        redirect_imports(call.symbol, "libpkunwind.so", call.function);
    }
}

}  // namespace peakline::capture
