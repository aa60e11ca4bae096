// What the simulated GPU says, always on stderr and never on stdout.
// Used by every simulated library; PEAKLINE_SIM_LOG chooses how much (0 nothing, 1 calls that are
// not modelled, 2 everything of note). Must not be called with a lock of the model held for long.
#pragma once

namespace simgpu {

int log_level();

void log_message(int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Says once per function name that the call is not modelled and what it returned.
void report_not_modelled(const char* function_name, const char* error_name);

}  // namespace simgpu
