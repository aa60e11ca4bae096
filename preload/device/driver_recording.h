// Records what the driver gives to anybody in the process: see Note [Driver records] in
// allocator/record/format/events.h, and preload/driver for how its calls are seen.
#pragma once

namespace peakline::preload {

// Listens from now on. Where the preloaded library is not in the process, what is loaded now or
// later is led to our dlsym; what has looked the driver up already is not seen.
void listen_to_driver();
// Until torch's allocator is recorded, memory of the driver is recorded as blocks, too, so that
// every report serves a program without torch. From here on only page-locked memory of the host
// is.
void leave_blocks_to_torch();

// For a trace that has just been opened.
void restate_driver();
void sample_at_end();

// Where a phase or a step of the program ends, on its thread.
void sample_after_phase();

void prepare_fork_driver();
void parent_after_fork_driver();
void child_after_fork_driver();

}  // namespace peakline::preload
