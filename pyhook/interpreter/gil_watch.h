// Detects when a thread releases and takes the GIL, so that its stack is walked only once while no
// Python code can have changed it. attach() sets it up; afterwards hot path.
//
// Note [Without the GIL]
// A thread runs Python code only while it holds the GIL, and torch runs operators without it. So
// all allocations of the operator, and its autograd node, have one Python stack. CPython signals
// every change to waiting threads in ceval_gil.h, on the thread that makes the change, in all
// versions: pthread_cond_signal(&gil->cond) after releasing the GIL, and
// pthread_cond_signal(&gil->switch_cond) after taking it, before any Python code runs. We redirect
// the import of that function in CPython's library. From the first signal to the next one of the
// same thread its pause has a unique odd number (capture::g_python_pause), and the stack found in a
// pause is valid until its end. Frames of Python code called in between, by a hook or a kernel
// written in Python, require taking the GIL. attach() determines which condition is which: it
// releases the GIL, takes it, and listens. Only the first signal begins a pause. Any other signal
// ends it: that of another interpreter's GIL, or a new one in a later CPython. A thread that never
// had the GIL has no pauses; its stack, which is empty, is read each time.
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Call it once, with the GIL; other threads may run meanwhile. If CPython differs from the note, no
// pauses are detected, and everything else works.
void watch_gil(const PythonApi& api);

}  // namespace peakline::pyhook
