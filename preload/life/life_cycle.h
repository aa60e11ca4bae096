// Switches recording on and off over the life of a process: fork, exit, _exit. Never destroys the
// recorder: frees still arrive after the end of main.
#pragma once

namespace peakline::preload {

// Registers the fork and exit handlers. Once a process.
void watch_life_cycle();

// Marks the clean end of the recording. Called at exit and from the interposed _exit; harmless
// when nothing is recorded or when called twice.
void end_of_process();

}  // namespace peakline::preload
