// The Python side of a recording, which may come later than the recording itself: see Note
// [Attaching later] in pyhook/interpreter/late_attach.h. Counts what was recorded without it, and
// says so once.
#pragma once

namespace peakline::preload {

// Finds and verifies the interpreter, now or as soon as the GIL is held.
void attach_python_side();
// Again, where the caller holds the GIL and an earlier call could not have it.
void attach_if_waiting();
// At the end of the process: there was never a GIL.
void report_lines_never_came();

}  // namespace peakline::preload
