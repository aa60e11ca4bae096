// Handles reads of values that a simulated device does not have: records where they happen, returns
// the values that the user assumed, and ends programs that wait for a value (Note [Waiting] in the
// source).
#pragma once

namespace peakline::preload {

struct Installed;

// Reads the options; warns on stderr about the first rule that does not parse.
void set_up_value_reads(Installed& state);

// Call at the end of the process: writes the peak use of each simulated device into the trace.
void put_device_use();

}  // namespace peakline::preload
