// Handles fork, exit and _exit of a recorded process. Never destroys the recorder: frees still
// arrive after the end of main.
#pragma once

namespace peakline::preload {

// Registers the fork and exit handlers, once per process.
void watch_life_cycle();

// Marks the clean end of the recording. The exit handler and the interposed _exit call it. It does
// nothing without a recording, or when called again.
void end_of_process();

}  // namespace peakline::preload
