#include "page_method.h"

#include "arguments.h"
#include "engine_call.h"
#include "report/render/page/page_report.h"

namespace peakline::report::python {
namespace {

// Removes the number of this name from `options`; false with an exception set on errors.
bool take_number(PyObject* options, const char* name, double* number) {
    PyObject* value = PyDict_GetItemString(options, name);
    if (value == nullptr) {
        return true;
    }
    *number = PyFloat_AsDouble(value);
    return PyErr_Occurred() == nullptr && PyDict_DelItemString(options, name) == 0;
}

PyObject* make(const TraceReader& reader,
               const SourceCode& code,
               PyObject* progress,
               PyObject* options) {
    double budget = 8e6;
    PageRequest request;
    double with_source = 1;
    if (!take_number(options, "budget", &budget) ||
        !take_number(options, "with_source", &with_source) ||
        !take_number(options, "from_seconds", &request.from_seconds) ||
        !take_number(options, "to_seconds", &request.to_seconds)) {
        return nullptr;
    }
    ReportCall call;
    PyObject* named = Py_BuildValue("(s)", "page");
    const bool parsed = named != nullptr && parse_call(named, options, &call);
    Py_XDECREF(named);
    if (!parsed) {
        return nullptr;
    }
    PageFile file;
    try {
        GilReleased gil;
        const auto bytes = static_cast<uint64_t>(budget > 0 ? budget : 0);
        call.options.paths.code = with_source != 0 ? &code : nullptr;
        file = make_page(reader, call.options, request, bytes, make_progress(progress, gil));
    } catch (...) {
        return translate_exception();
    }
    return Py_BuildValue(
        "(NN)",
        PyUnicode_DecodeUTF8(
            file.json.data(), static_cast<Py_ssize_t>(file.json.size()), "replace"),
        PyBytes_FromStringAndSize(file.columns.data(),
                                  static_cast<Py_ssize_t>(file.columns.size())));
}

}  // namespace

PyObject* page_of(const TraceReader& reader,
                  const SourceCode& code,
                  PyObject* progress,
                  PyObject* args,
                  PyObject* kwargs) {
    if (PyTuple_Size(args) != 0) {
        PyErr_SetString(PyExc_TypeError, "page() takes keywords only");
        return nullptr;
    }
    PyObject* options = kwargs != nullptr ? PyDict_Copy(kwargs) : PyDict_New();
    if (options == nullptr) {
        return nullptr;
    }
    PyObject* result = make(reader, code, progress, options);
    Py_DECREF(options);
    return result;
}

}  // namespace peakline::report::python
