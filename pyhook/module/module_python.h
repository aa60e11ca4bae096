// Shared by the files of peakline._recorder: Python.h, and the parsing of arguments.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace peakline::pyhook {

// Parses [number, id, number, id, ...] as pairs. Returns false with an exception set.
template <class Pair>
bool read_pairs(PyObject* list, std::vector<Pair>* pairs) {
    const Py_ssize_t size = PyList_Size(list);
    for (Py_ssize_t i = 0; i + 1 < size && PyErr_Occurred() == nullptr; i += 2) {
        pairs->push_back(
            {PyLong_AsUnsignedLongLong(PyList_GetItem(list, i)),
             static_cast<uint32_t>(PyLong_AsUnsignedLong(PyList_GetItem(list, i + 1)))});
    }
    return PyErr_Occurred() == nullptr;
}

}  // namespace peakline::pyhook
