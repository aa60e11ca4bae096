// Attaching later: for processes that use CUDA first on a thread that does not hold the GIL.
//
// Note [Attaching later]
// torch.distributed.init_process_group(), init_device_mesh() and pin_memory() initialise CUDA after
// torch has released the GIL. The thread may hold locks of torch for which the holder of the GIL
// waits, so waiting for the GIL there could deadlock. Two events show that some thread holds the
// GIL; the first one counts:
//   * The thread returns to Python through PyEval_RestoreThread(). We redirect imports of that
//     function in the loaded libraries: when it returns, the thread has the GIL and has run no
//     Python code yet. It would have waited there while others run Python code, so we may run
//     some. Afterwards the hook only forwards: removing it would race with other hooks.
//   * Py_AddPendingCall(), which needs neither the GIL nor a thread state: the main thread calls us
//     between two instructions; up to 3.12, after it has taken the GIL back from another thread.
//     This covers threads that never had the GIL, and libraries that we cannot hook. The
//     interpreter also makes pending calls at the beginning of its end.
// An interpreter that is not initialised, or no longer, is left alone: Py_IsInitialized().
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Any thread may call it, with or without the GIL, once. `when_possible` runs with the GIL, on any
// thread, at least once until stop_waiting().
void wait_for_gil(const PythonApi& api, void (*when_possible)());
void stop_waiting();

}  // namespace peakline::pyhook
