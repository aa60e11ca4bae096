// See module_files.h.
#include "module_files.h"

#include <vector>

#include "preload/peakline_api.h"

namespace peakline::pyhook {

PyObject* say(PyObject*, PyObject* text) {
    PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
    if (bytes == nullptr) {
        return nullptr;
    }
    peakline_say(PyBytes_AsString(bytes));
    Py_DecRef(bytes);
    Py_RETURN_NONE;
}

PyObject* note(PyObject*, PyObject* arguments) {
    const char* what = nullptr;
    PyObject* text = nullptr;
    if (!PyArg_ParseTuple(arguments, "sO&", &what, PyUnicode_FSConverter, &text)) {
        return nullptr;
    }
    const bool is_noted = peakline_note(what, PyBytes_AsString(text)) != 0;
    Py_DecRef(text);
    return PyBool_FromLong(is_noted ? 1 : 0);
}

PyObject* read_file(PyObject*, PyObject* arguments) {
    PyObject* path = nullptr;
    Py_ssize_t most_bytes = 0;
    if (!PyArg_ParseTuple(arguments, "O&n", PyUnicode_FSConverter, &path, &most_bytes)) {
        return nullptr;
    }
    std::vector<char> bytes(static_cast<size_t>(most_bytes > 0 ? most_bytes : 0));
    const size_t length = peakline_read_file(PyBytes_AsString(path), bytes.data(), bytes.size());
    Py_DecRef(path);
    return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(length));
}

}  // namespace peakline::pyhook
