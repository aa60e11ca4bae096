// Callbacks of ours at the end of the interpreter: one marks the end of the program's main, one
// closes the gate. attach() asks for them; nothing of the program's own callbacks is touched.
//
// Note [End of main]
// When main has ended, Py_FinalizeEx calls threading._shutdown(), which runs the callbacks of
// threading._register_atexit() and joins the threads; then the callbacks of atexit run, the newest
// first; then modules lose their objects. Main has ended when the threads are joined and no
// callback of atexit has run. So our callback of threading registers the one of atexit that marks
// it: registered last, it runs first.
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// With the GIL; leaves an exception set when something fails. False: the end of the interpreter
// cannot be watched. `api` outlives the process.
bool watch_end(const PythonApi& api);

// Called when main has ended, with the GIL. Set before watch_end(); nothing is called without it.
void set_main_end_handler(void (*handler)());

}  // namespace peakline::pyhook
