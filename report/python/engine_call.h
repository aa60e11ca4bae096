// Calls the engine without the GIL, with progress and exceptions.
#pragma once

#include <Python.h>

#include "report/trace/events/event_stream.h"

namespace peakline::report::python {

// Thrown through the engine when Python code raised; the exception is set.
struct PythonRaised {};

// Releases the GIL; takes it again at the end, also when the engine throws.
class GilReleased {
public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() { PyEval_RestoreThread(state_); }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

    // Runs `work` with the GIL held.
    template <class Work>
    void with_gil(Work work) {
        PyEval_RestoreThread(state_);
        const bool good = work();
        state_ = PyEval_SaveThread();
        if (!good) {
            throw PythonRaised();
        }
    }

private:
    PyThreadState* state_;
};

// Sets the Python exception that matches the C++ exception being handled; returns nullptr.
PyObject* translate_exception();

// Calls `callback(fraction)` now and then, when it is not nullptr. Also lets Ctrl-C end the work.
Progress make_progress(PyObject* callback, GilReleased& gil);

// The class of a TraceError; made once, when the module is imported.
bool make_trace_error();
PyObject* trace_error();

}  // namespace peakline::report::python
