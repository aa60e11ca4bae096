// Trace.page(): the data of the HTML page.
#pragma once

#include <Python.h>

#include "report/symbols/source_code.h"
#include "report/trace/reader.h"

namespace peakline::report::python {

// page(budget=8000000, from_seconds=0.0, to_seconds=inf, with_source=True, **options)
// -> (json text, column bytes);
// `progress`: callable(fraction), or nullptr. nullptr with an exception set on errors.
PyObject* page_of(const TraceReader& reader,
                  const SourceCode& code,
                  PyObject* progress,
                  PyObject* args,
                  PyObject* kwargs);

}  // namespace peakline::report::python
