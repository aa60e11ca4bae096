// `peakline run --steps 5..8`: only these steps of the optimizers are recorded. Until then the
// recorder counts blocks without their stacks and has no file, so that what lives when the first of
// them begins is known, as untraced. startup/_peakline_steps.py counts and calls; a process without
// Python, or without optimizers, records nothing.
#pragma once

#include "preload/options/options.h"

namespace peakline::preload {

// What PEAKLINE_STEPS asks to record, "5..8" or "5.."; "" where all is recorded.
const char* recorded_steps(const Options& options);
// Whether recording begins later than with the first step.
bool waits_for_steps(const Options& options);

// On the thread that has made the step before, with the GIL. False: nothing is recorded here yet.
bool begin_recorded_steps();

// Closes the trace. What follows is counted only.
void end_recorded_steps();

}  // namespace peakline::preload
