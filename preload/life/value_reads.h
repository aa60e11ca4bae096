// Reads of values that do not exist, on simulated devices: records where they happen, answers with
// what the user assumed, and ends programs that wait for a value (Note [Waiting] in the source).
#pragma once

namespace peakline::preload {

struct Installed;

// Reads the options; says on stderr which rule does not parse.
void set_up_value_reads(Installed& state);

// Writes into the trace how much of each simulated device was ever in use, at the process's end.
void put_device_use();

}  // namespace peakline::preload
