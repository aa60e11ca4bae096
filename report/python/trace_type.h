// The type peakline._report.Trace: a trace and its reports.
#pragma once

#include <Python.h>

namespace peakline::report::python {

// A new reference, or nullptr with an exception set.
PyObject* make_trace_type();

}  // namespace peakline::report::python
