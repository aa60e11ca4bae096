// _report.TraceWriter: writes a trace of events that another tool recorded.
#pragma once

#include <Python.h>

namespace peakline::report::python {

// The class; made once, at import. nullptr with an exception set on errors.
PyObject* make_writer_type();

}  // namespace peakline::report::python
