// The phases that are open and the step that runs, as the program marked them, whether or not
// anything is recorded yet: a phase may be opened before CUDA is initialised, or before the trace
// it belongs to. They begin with the trace. api.cpp marks; install.cpp opens traces.
// Note [Marks before the trace]
// A phase that ended before held no memory of the device: it is not in the trace.
#pragma once

#include "allocator/record/format/trace_format.h"

namespace peakline::preload {

// A mark of this thread. `name` may be null. From the program's own calls only, never from hooks:
// it allocates and locks.
void mark(format::MarkKind kind, const char* name);

// The recorder has come up: it gets what was marked before.
void record_early_marks();

// A trace was opened: what is open begins in it, too. The recorder's opener may call this.
void restate_marks();

}  // namespace peakline::preload
