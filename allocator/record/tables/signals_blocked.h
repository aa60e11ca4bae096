// Blocks all signals of this thread for its lifetime, during work that a handler of the program, or
// of another profiler, must not interrupt. This includes the two signals by which glibc cancels
// threads and changes their user: pthread_sigmask leaves those out.
#pragma once

#include <csignal>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace peakline::record {

class SignalsBlocked {
public:
    SignalsBlocked() {
        const uint64_t all = ~uint64_t{0};
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof before_);
    }
    ~SignalsBlocked() {
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    uint64_t before_ = 0;
};

}  // namespace peakline::record
