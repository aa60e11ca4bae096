// Our callbacks at the end of the interpreter: one marks the end of the program's main, one closes
// the gate. attach() registers them; the program's own callbacks stay untouched.
//
// Note [End of main]
// When main has ended, Py_FinalizeEx calls threading._shutdown(), which runs the callbacks of
// threading._register_atexit() and joins the threads. Then the callbacks of atexit run, the newest
// first; then modules lose their objects. Main has ended when the threads are joined and no
// callback of atexit has run. So our callback of threading registers the atexit callback that marks
// the end: registered last, it runs first.
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Call it with the GIL; leaves an exception set on failure. Returns false if the end of the
// interpreter cannot be watched. `api` must outlive the process.
bool watch_end(const PythonApi& api);

// The handler runs when main has ended, with the GIL. Set it before watch_end().
void set_main_end_handler(void (*handler)());

}  // namespace peakline::pyhook
