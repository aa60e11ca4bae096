// Moments at which our Python code may run in the program: on its main thread, between two
// instructions, with the GIL. There torch_objects/ reads the program's modules and optimizers and
// reports their names.
//
// Note [Safe points]
// A capture or a hook must not run Python, so it requests a safe point. Py_AddPendingCall, which
// needs neither the GIL nor a thread state, makes the interpreter call us soon, like a signal
// handler. This patches nothing inside torch, so torch.compile does not notice it.
#pragma once

#include <cstdint>

#include "allocator/capture/stack_capture.h"
#include "python_api.h"

namespace peakline::pyhook {

using capture::SafePoint;

// Call it with the GIL: loads torch_objects/ from the folder above our own library. Returns false
// if it is missing or the process has no torch. `api` must outlive the process.
bool load_safe_points(const PythonApi& api);

// Any thread may call it, with or without the GIL, after load_safe_points(). If torch was only
// partly imported then, loads again, at a safe point.
void load_safe_points_if_missing();

// Any thread may call it, with or without the GIL. At most one request waits.
void request_safe_point(SafePoint reason);

// Runs one now, on this thread; does nothing without the GIL.
void run_safe_point(SafePoint reason);

// The last scan of a process that leaves by _exit; only runs if the interpreter called _exit
// (os._exit). A signal handler of the program may also call it, at any point, where no Python can
// run. `caller`: the return address of the call.
void run_last_look(const void* caller);

// In the child of fork: nothing is recorded there.
void forget_safe_points();

}  // namespace peakline::pyhook
