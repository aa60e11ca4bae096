// Arguments of Python as the engine takes them.
#pragma once

#include <Python.h>

#include <optional>
#include <string>

#include "report/render/report.h"

namespace peakline::report::python {

// Empty when `object` is not text that UTF-8 can hold; then an exception is set.
std::optional<std::string> text_of(PyObject* object);

// A call of Trace.report(name, *, json=False, **options).
struct ReportCall {
    const char* name = nullptr;  // lives as long as the arguments
    ReportOptions options;
};

// False with an exception set.
bool parse_call(PyObject* args, PyObject* kwargs, ReportCall* call);

}  // namespace peakline::report::python
