// Opens the trace of this process and writes its metadata: the facts of Installed, of the process
// and of the devices.
#pragma once

#include "install.h"

namespace peakline::preload {

// Returns 0 or an errno.
int open_trace_at(Installed& state, const char* path, bool replace);
// Opens the trace that the options name, with a message on failure. If the file or folder is not
// writable, recording goes on in memory.
void open_trace_or_say_why();
// For a recording that began with the driver or with CPU tensors: its trace may already be open
// when torch's part is added.
void restate_torch_meta(const Installed& state);
// Warns if another program removed or replaced the trace file.
void say_if_trace_is_lost();

}  // namespace peakline::preload
