// For life_exit_in_handler.py: a signal handler that leaves by _exit, and a timer for it. C may do
// so at any moment, also in the midst of malloc or of a call of ours.
#include <csignal>
#include <cstdint>

#include <sys/time.h>
#include <unistd.h>

namespace {

void leave(int) {
    _exit(7);
}

}  // namespace

extern "C" void leave_after(int64_t microseconds) {
    struct sigaction action = {};
    action.sa_handler = leave;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval timer{{0, 0}, {microseconds / 1'000'000, microseconds % 1'000'000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
}
