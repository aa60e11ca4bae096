// Numbers and words of the recorder for Python, defined once: in C++.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// Adds them to the module; returns false with an exception set. _recorder.pyi lists them.
bool add_constants(PyObject* module);

}  // namespace peakline::pyhook
