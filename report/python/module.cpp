// The extension module peakline._report: the report engine for Python. Converts arguments, lets
// go of the GIL while the engine works, converts errors. No logic lives here. Limited API of
// CPython 3.10: one binary serves all later versions.
#include <Python.h>

#include "engine_call.h"
#include "trace_type.h"

namespace {

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT,
    "_report",
    "Reads traces and makes reports of them.",
    -1,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__report() {
    PyObject* module = PyModule_Create(&g_module);
    if (module == nullptr) {
        return nullptr;
    }
    using namespace peakline::report::python;
    const bool has_error = make_trace_error();
    PyObject* type = make_trace_type();
    if (!has_error || type == nullptr ||
        PyModule_AddObjectRef(module, "TraceError", trace_error()) != 0 ||
        PyModule_AddObjectRef(module, "Trace", type) != 0) {
        Py_DECREF(module);
        return nullptr;
    }
    Py_DECREF(type);
    return module;
}
