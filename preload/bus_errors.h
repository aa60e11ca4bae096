// SIGBUS in a recorded program; see bus_errors.cpp.
#pragma once

#include <csignal>

// Acts like sigaction(SIGBUS, wanted, before). Returns false if only the program handles the
// signal.
using peakline_program_action_function = bool (*)(const struct sigaction* wanted,
                                                  struct sigaction* before);
// Sets the function when the recorder is loaded.
void peakline_lead_bus_errors(peakline_program_action_function function);
