// Moments at which Python code of ours may run in the program: on its main thread, between two of
// its instructions, with the GIL. There torch_objects/ reads the program's modules and
// optimizers and reports their names.
//
// Note [Safe points]
// A capture or a hook may not run Python. It asks for a safe point; Py_AddPendingCall, which needs
// neither the GIL nor a thread state, makes the interpreter call us soon, like a signal handler.
// Nothing inside torch is patched for this, so torch.compile sees nothing of it.
#pragma once

#include <cstdint>

#include "allocator/capture/stack_capture.h"
#include "python_api.h"

namespace peakline::pyhook {

using capture::SafePoint;

// With the GIL: loads torch_objects/ from the folder above our own library. False: there is
// none, or no torch in the process. `api` outlives the process.
bool load_safe_points(const PythonApi& api);

// Any thread, with or without the GIL, after load_safe_points(): where that found a torch that was
// not wholly imported it is done again, as a safe point is.
void load_safe_points_if_missing();

// Any thread, with or without the GIL. At most one request waits.
void request_safe_point(SafePoint reason);

// Now, on this thread; does nothing when it does not hold the GIL.
void run_safe_point(SafePoint reason);

// The last look of a process that leaves by _exit: only when the interpreter called it (os._exit).
// A signal handler of the program may do so, too, in the midst of anything: there no Python can
// run. `caller`: the return address of the call.
void run_last_look(const void* caller);

// In the child of fork: nothing is recorded there.
void forget_safe_points();

}  // namespace peakline::pyhook
