#include "object_facts.h"

#include <cstring>

#include <dlfcn.h>

#include "heap_graph.h"
#include "object_layout.h"

namespace peakline::pyhook {
namespace {

constexpr size_t kLongestKey = 40;
constexpr Py_ssize_t kLongestSequence = 1'000'000;  // longer sequences are not searched

std::string text_of_tuple(PyObject* tuple) {
    std::string text = "(";
    for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); ++i) {
        text += (i != 0 ? ", " : "") + key_text(PyTuple_GetItem(tuple, i));
    }
    return text + ")";
}

}  // namespace

bool is_type(PyObject* object, const char* exported_name) {
    return Py_TYPE(object) == dlsym(RTLD_DEFAULT, exported_name);
}
bool is_function(PyObject* object) {
    return is_type(object, "PyFunction_Type");
}
bool is_generator(PyObject* object) {
    return is_type(object, "PyGen_Type") || is_type(object, "PyCoro_Type") ||
           is_type(object, "PyAsyncGen_Type");
}

bool is_derived_from(PyObject* object, const char* module, const char* name) {
    PyObject* const type = imported(module, name);
    return type != nullptr && PyType_Check(type) != 0 &&
           PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(type)) != 0;
}

const void* attribute_address(PyObject* object, const char* name) {
    PyObject* const value = PyObject_GetAttrString(object, name);
    PyErr_Clear();
    const void* const address = value;
    Py_XDECREF(value);
    return address;
}

std::string name_at(PyObject* code, const char* which, Py_ssize_t index) {
    PyObject* const names = PyObject_GetAttrString(code, which);
    std::string name;
    if (names != nullptr && PyTuple_Check(names) != 0 && index >= 0 &&
        index < PyTuple_Size(names)) {
        name = text_of(PyTuple_GetItem(names, index));
    }
    Py_XDECREF(names);
    PyErr_Clear();
    return name;
}

Py_ssize_t index_of(PyObject* sequence, PyObject* item) {
    const bool is_list = PyList_Check(sequence) != 0;
    const Py_ssize_t size = is_list ? PyList_Size(sequence) : PyTuple_Size(sequence);
    for (Py_ssize_t i = 0; i < size && i < kLongestSequence; ++i) {
        if ((is_list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i)) == item) {
            return i;
        }
    }
    return -1;
}

Py_ssize_t index_in_deque(PyObject* deque, PyObject* item) {
    const Py_ssize_t size = PySequence_Size(deque);
    for (Py_ssize_t i = 0; i < size && i < kLongestSequence; ++i) {
        PyObject* const one = PySequence_GetItem(deque, i);
        Py_XDECREF(one);  // the deque holds it
        if (one == item) {
            return i;
        }
    }
    PyErr_Clear();
    return -1;
}

PyObject* code_of(PyObject* function) {
    PyObject* const code = PyObject_GetAttrString(function, "__code__");
    Py_XDECREF(code);  // the function holds it
    PyErr_Clear();
    return code;
}

std::string class_of(PyObject* object) {
    const char* const name =
        *reinterpret_cast<const char* const*>(reinterpret_cast<const char*>(Py_TYPE(object)) + 24);
    const char* const dot = strrchr(name, '.');
    return dot != nullptr ? dot + 1 : name;
}

std::string key_text(PyObject* key) {
    std::string text;
    if (PyUnicode_CheckExact(key) != 0) {
        text = "'" + text_of(key) + "'";
    } else if (PyLong_CheckExact(key) != 0 || PyBool_Check(key) != 0 || key == Py_None ||
               PyFloat_CheckExact(key) != 0) {
        PyObject* const written = PyObject_Repr(key);
        text = text_of(written);
        Py_XDECREF(written);
    } else if (PyTuple_CheckExact(key) != 0 && PyTuple_Size(key) <= 4) {
        text = text_of_tuple(key);
    } else {
        text = "<" + class_of(key) + ">";
    }
    PyErr_Clear();
    return text.size() <= kLongestKey ? text : text.substr(0, kLongestKey) + "...";
}

}  // namespace peakline::pyhook
