// SIGBUS of a recorded program; see bus_errors.cpp.
#pragma once

#include <csignal>

// Does what sigaction(SIGBUS, wanted, before) would; false: the signal is the program's alone.
using peakline_program_action_function = bool (*)(const struct sigaction* wanted,
                                                  struct sigaction* before);
// Called when the recorder is loaded.
void peakline_lead_bus_errors(peakline_program_action_function function);
