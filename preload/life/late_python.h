// The Python side of a recording, which may start later than the recording itself: see Note
// [Attaching later] in pyhook/interpreter/late_attach.h. Counts the blocks recorded without it, and
// reports them once.
#pragma once

namespace peakline::preload {

// Finds and verifies the interpreter, now or as soon as a thread holds the GIL.
void attach_python_side();
// Tries again. The caller holds the GIL, which an earlier call could not take.
void attach_if_waiting();
// Call at the end of the process. Reports the case that the GIL was never held.
void report_lines_never_came();

}  // namespace peakline::preload
