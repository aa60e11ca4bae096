// Attaching later: for processes that use CUDA first on a thread that does not hold the GIL.
//
// Note [Attaching later]
// torch.distributed.init_process_group(), init_device_mesh() and pin_memory() initialise CUDA after
// torch has released the GIL, and the thread may hold locks of torch for which the holder of the
// GIL waits: to wait for the GIL there could be a deadlock. Two ways lead to the first moment at
// which some thread has it; the first that comes counts:
//   * The thread goes back into Python through PyEval_RestoreThread(). Imports of that function in
//     the loaded libraries lead through us: when it returns, the thread has the GIL and has run no
//     Python code yet. It was ready to wait there as long as others run Python code, so we may run
//     some. Afterwards the hook only passes on: taking it out would race with other hooks.
//   * Py_AddPendingCall(), which needs neither the GIL nor a thread state: the main thread calls us
//     between two instructions; up to 3.12, when another thread asked, after it has taken the GIL
//     again. For threads that never had the GIL, and for libraries whose calls we do not see. The
//     interpreter makes the calls that wait at the begin of its end, too.
// An interpreter that is not initialised yet, or not any more, is left alone: Py_IsInitialized().
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Any thread, with or without the GIL; call once. `when_possible` is called with the GIL, on any
// thread, once or again until stop_waiting().
void wait_for_gil(const PythonApi& api, void (*when_possible)());
void stop_waiting();

}  // namespace peakline::pyhook
