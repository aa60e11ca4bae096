// Sees when a thread releases the GIL and takes it, so that a stack need not be walked twice while
// no Python code can have changed it. Set up by attach(); afterwards hot path.
//
// Note [Without the GIL]
// A thread runs Python code only while it holds the GIL, and torch runs an operator without it:
// what the operator allocates, however often, and the autograd node it makes, have one Python
// stack. CPython signals every change to waiting threads in ceval_gil.h, on the thread that makes
// it, in all versions alike: pthread_cond_signal(&gil->cond) after it has given the GIL up, and
// pthread_cond_signal(&gil->switch_cond) when it has taken it, before any Python code runs. The
// import of that function in the library that CPython is in is led through us. From the first
// signal to the next one of the same thread its pause has a number of its own, which is odd
// (capture::g_python_pause), and the stack found in a pause holds until its end. Frames of Python
// code that is called in between, by a hook or a kernel written in Python, come with a GIL that was
// taken.
// Which condition is which is not assumed: attach() gives the GIL up and takes it, and listens. The
// first signal alone begins a pause. Any other one ends it: the GIL of another interpreter, or what
// a later CPython may have to say.
// A thread that never had the GIL has no pauses, and its stack is asked for each time: it has none.
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Call once, with the GIL; other threads may run meanwhile. Where CPython is not as in the note no
// pauses are seen, and everything else is as before.
void watch_gil(const PythonApi& api);

}  // namespace peakline::pyhook
