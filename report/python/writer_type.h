// _report.TraceWriter: writes a trace that was recorded elsewhere.
#pragma once

#include <Python.h>

namespace peakline::report::python {

// The class; made once, when the module is imported. nullptr with an exception set on errors.
PyObject* make_writer_type();

}  // namespace peakline::report::python
