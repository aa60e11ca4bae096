// Converts arguments from Python for the engine.
#pragma once

#include <Python.h>

#include <optional>
#include <string>

#include "report/reports/report.h"

namespace peakline::report::python {

// nullopt with an exception set when `object` is no text that UTF-8 can encode.
std::optional<std::string> text_of(PyObject* object);

// A call of Trace.report(name, *, json=False, **options).
struct ReportCall {
    const char* name = nullptr;  // valid as long as the arguments
    ReportOptions options;
};

// False with an exception set.
bool parse_call(PyObject* args, PyObject* kwargs, ReportCall* call);

}  // namespace peakline::report::python
