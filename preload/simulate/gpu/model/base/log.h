// Messages of the simulated GPU, always on stderr and never on stdout. All simulated libraries use
// it. PEAKLINE_SIM_LOG chooses the level (0 nothing, 1 calls that are not modelled, 2 all calls).
// Do not call it with a lock of the model held for long.
#pragma once

namespace simgpu {

int log_level();

void log_message(int level, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Reports, once per function name, that the call is not modelled and the error it returned.
void report_not_modelled(const char* function_name, const char* error_name);

}  // namespace simgpu
