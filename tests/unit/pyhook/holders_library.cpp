// Exports the reads of CPython's objects by the search for holders (pyhook/holders/object_layout.h)
// to Python programs, through ctypes.PyDLL. Limited API: one build serves every interpreter.
#include "preload/peakline_api.h"
#include "pyhook/holders/frame_layout.h"
#include "pyhook/holders/object_layout.h"

#define PEAKLINE_TEST_EXPORT extern "C" __attribute__((visibility("default")))

using namespace peakline::pyhook;

// Replaces the recorder's function: here Python frames are always trusted.
PEAKLINE_TEST_EXPORT void peakline_status(PeaklineStatus* status) {
    *status = PeaklineStatus{};
    status->has_python_stacks = 1;
}

namespace {

// {name: id of the value}
PyObject* as_dict(const FrameView& frame) {
    PyObject* const dict = PyDict_New();
    for (const Variable& variable : variables_of(frame)) {
        PyObject* const id = PyLong_FromVoidPtr(variable.value);
        PyDict_SetItemString(dict, variable.name.c_str(), id);
        Py_XDECREF(id);
    }
    return dict;
}

}  // namespace

PEAKLINE_TEST_EXPORT PyObject* attribute(PyObject* object, PyObject* value) {
    return PyUnicode_FromString(attribute_name(object, value).c_str());
}

PEAKLINE_TEST_EXPORT PyObject* variables_of_generator(PyObject* generator) {
    return as_dict(frame_of_generator(generator));
}

PEAKLINE_TEST_EXPORT PyObject* variables_of_frame(PyObject* frame) {
    return as_dict(frame_of_object(frame));
}

// [(function, place, {name: id of the value}), ...] of all threads, those of each from the inside.
PEAKLINE_TEST_EXPORT PyObject* running() {
    PyObject* const list = PyList_New(0);
    for (const FrameView& frame : running_frames()) {
        PyObject* const row = Py_BuildValue(
            "(ssN)", function_of(frame.code).c_str(), location_of(frame).c_str(), as_dict(frame));
        PyList_Append(list, row);
        Py_XDECREF(row);
    }
    return list;
}

PEAKLINE_TEST_EXPORT PyObject* thread_data() {
    PyObject* const list = PyList_New(0);
    for (PyObject* const dictionary : thread_dictionaries()) {
        PyList_Append(list, dictionary);
    }
    return list;
}
