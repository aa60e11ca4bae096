// The open phases and the running step, as the program marked them, whether or not a recording is
// on: a phase may begin before CUDA is initialised or before its trace opens. Such marks begin with
// the trace. api.cpp adds marks; open_trace.cpp opens traces.
// Note [Marks before the trace]
// A phase that ended before the trace held no memory of the device, so it is not in the trace.
#pragma once

#include "allocator/record/format/trace_format.h"

namespace peakline::preload {

// Adds a mark of this thread. `name` may be null. Only the program's own calls may call this, never
// hooks: it allocates and locks.
void mark(format::MarkKind kind, const char* name);

// Call when the recorder is installed: records the marks made before.
void record_early_marks();

// Call when a trace was opened: records the beginning of open marks. The recorder's opener may call
// it.
void restate_marks();

}  // namespace peakline::preload
