// Numbers and words of the recorder that Python uses, stated once: in C++.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// Adds them to the module; false with an exception. _recorder.pyi lists them.
bool add_constants(PyObject* module);

}  // namespace peakline::pyhook
