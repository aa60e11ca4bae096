// Records all memory that the driver gives to this process: see Note [Driver records] in
// allocator/record/format/events.h. preload/driver intercepts the calls.
#pragma once

namespace peakline::preload {

// Starts listening. Without the preloaded library, redirects dlsym in the libraries that are loaded
// now or later; callers that looked the driver up earlier are missed.
void listen_to_driver();
// Until torch's allocator is recorded, driver memory is also recorded as blocks, so that every
// report works for programs without torch. After this call only page-locked host memory is.
void leave_blocks_to_torch();

// For a trace that has just been opened.
void restate_driver();
void sample_at_end();

// Called where a phase or a step of the program ends, on its thread.
void sample_after_phase();

void prepare_fork_driver();
void parent_after_fork_driver();
void child_after_fork_driver();

}  // namespace peakline::preload
