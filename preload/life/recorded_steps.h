// `peakline run --steps 5..8` records only these steps of the optimizers. Before them the recorder
// counts blocks without stacks and has no file, so that it knows the live blocks when the first
// step begins; they count as untraced. startup/_peakline_steps.py counts steps and calls this. A
// process without Python, or without optimizers, records nothing.
#pragma once

#include "preload/options/options.h"

namespace peakline::preload {

// The value of PEAKLINE_STEPS, "5..8" or "5.."; "" if all steps are recorded.
const char* recorded_steps(const Options& options);
// Whether recording begins later than the first step.
bool waits_for_steps(const Options& options);

// Call on the thread that ran the previous step, with the GIL held. Returns false if recording is
// not on yet.
bool begin_recorded_steps();

// Closes the trace. Later blocks are only counted.
void end_recorded_steps();

}  // namespace peakline::preload
