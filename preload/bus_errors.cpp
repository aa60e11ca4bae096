// Replaces sigaction and signal for SIGBUS. While a trace is written, the recorder handles that
// signal (Note [Truncated pages] in allocator/record/files/page_guard.h). The program still reads
// and sets its own action. Part of the preloaded library: libc only.
#include "bus_errors.h"

#include <csignal>

#define EXPORT __attribute__((visibility("default")))

extern "C" {

using SignalHandler = void (*)(int);

// glibc's own name for sigaction(); its name for signal() is ssignal().
int __sigaction(int signal, const struct sigaction* wanted, struct sigaction* before);

}  // extern "C"

namespace {

peakline_program_action_function g_program_action = nullptr;

bool is_recorders(int signal, const struct sigaction* wanted, struct sigaction* before) {
    return signal == SIGBUS && g_program_action != nullptr && g_program_action(wanted, before);
}

}  // namespace

void peakline_lead_bus_errors(peakline_program_action_function function) {
    g_program_action = function;
}

extern "C" {

EXPORT int sigaction(int signal, const struct sigaction* wanted, struct sigaction* before) {
    return is_recorders(signal, wanted, before) ? 0 : __sigaction(signal, wanted, before);
}

EXPORT SignalHandler signal(int signal, SignalHandler handler) {
    struct sigaction before {};
    struct sigaction wanted {};
    wanted.sa_handler = handler;
    wanted.sa_flags = SA_RESTART;
    sigemptyset(&wanted.sa_mask);
    sigaddset(&wanted.sa_mask, SIGBUS);
    return is_recorders(signal, &wanted, &before) ? before.sa_handler : ssignal(signal, handler);
}

}  // extern "C"
