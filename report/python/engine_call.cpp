#include "engine_call.h"

#include <chrono>
#include <new>
#include <string>

#include "report/trace/file/trace_error.h"

namespace peakline::report::python {
namespace {

PyObject* g_trace_error = nullptr;  // Written once, when the module is imported.

bool report_progress(PyObject* callback, double fraction) {
    if (PyErr_CheckSignals() != 0) {
        return false;
    }
    if (callback == nullptr) {
        return true;
    }
    PyObject* result = PyObject_CallFunction(callback, "d", fraction);
    Py_XDECREF(result);
    return result != nullptr;
}

}  // namespace

// Sets the Python exception that matches the C++ exception being handled.
PyObject* translate_exception() {
    try {
        throw;
    } catch (const PythonRaised&) {
    } catch (const TraceError& error) {
        PyObject* text = PyUnicode_DecodeUTF8(
            error.what(), static_cast<Py_ssize_t>(std::string(error.what()).size()), "replace");
        if (text != nullptr) {
            PyErr_SetObject(g_trace_error, text);
            Py_DECREF(text);
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

Progress make_progress(PyObject* callback, GilReleased& gil) {
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPause = std::chrono::milliseconds(50);
    return [callback, &gil, last = Clock::now()](double fraction) mutable {
        if (Clock::now() - last >= kPause) {
            gil.with_gil([&] { return report_progress(callback, fraction); });
            last = Clock::now();
        }
    };
}

bool make_trace_error() {
    g_trace_error = PyErr_NewException("peakline._report.TraceError", nullptr, nullptr);
    return g_trace_error != nullptr;
}

PyObject* trace_error() {
    return g_trace_error;
}

}  // namespace peakline::report::python
