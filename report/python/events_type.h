// Trace.events(): an iterator over every event, as columns.
#pragma once

#include <Python.h>

#include "report/trace/reader.h"

namespace peakline::report::python {

// Makes the iterator class; once, at import. False with an exception set on errors.
bool make_events_type();

// events(**options) -> iterator of (columns, names): a dictionary of bytes by the name of the
// column, and JSON. `trace` owns `reader`; `progress`: callable(fraction), or nullptr. nullptr with
// an exception set on errors.
PyObject* events_of(PyObject* trace,
                    const TraceReader& reader,
                    PyObject* progress,
                    PyObject* kwargs);

}  // namespace peakline::report::python
