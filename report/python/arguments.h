// Arguments of Python as the engine takes them.
#pragma once

#include <Python.h>

#include <optional>
#include <string>

#include "report/render/report.h"

namespace peakline::report::python {

// Empty when `object` is not text that UTF-8 can hold; then an exception is set.
std::optional<std::string> text_of(PyObject* object);

// The keyword options of every report; false with an exception set.
bool parse_options(PyObject* args, PyObject* kwargs, ReportOptions* options);

}  // namespace peakline::report::python
