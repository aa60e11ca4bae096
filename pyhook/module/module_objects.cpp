#include "module_objects.h"

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "preload/peakline_api.h"
#include "pyhook/holders/roots.h"

namespace peakline::pyhook {
namespace {

uint64_t address_of(PyObject* object) {
    return reinterpret_cast<uint64_t>(object);
}

bool read_reported(PyObject* list, std::vector<PeaklineReportedTensor>* reported) {
    const Py_ssize_t size = PyList_Size(list);
    const auto id = [list](Py_ssize_t at) {
        return static_cast<uint32_t>(PyLong_AsUnsignedLong(PyList_GetItem(list, at)));
    };
    for (Py_ssize_t i = 0; i + 2 < size && PyErr_Occurred() == nullptr; i += 3) {
        reported->push_back(
            {PyLong_AsUnsignedLongLong(PyList_GetItem(list, i)), id(i + 1), id(i + 2)});
    }
    return PyErr_Occurred() == nullptr;
}

}  // namespace

PyObject* watch_methods(PyObject*, PyObject* codes) {
    uint64_t addresses[kPeaklineMaxWatched];
    const Py_ssize_t count = PyTuple_Size(codes);  // -1 with an error; never for METH_VARARGS
    if (count < 0 || static_cast<size_t>(count) > kPeaklineMaxWatched) {
        PyErr_SetString(PyExc_ValueError, "so many methods cannot be watched");
        return nullptr;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        addresses[i] = address_of(PyTuple_GetItem(codes, i));
    }
    peakline_watch_methods(addresses, static_cast<size_t>(count));
    Py_RETURN_NONE;
}

PyObject* own_instance(PyObject*, PyObject*) {
    return PyLong_FromUnsignedLongLong(peakline_own_instance());
}

PyObject* name_instance(PyObject*, PyObject* arguments) {
    PyObject* object = nullptr;
    const char* class_name = nullptr;
    const char* root = nullptr;
    const char* path = nullptr;
    if (!PyArg_ParseTuple(arguments, "Oszz", &object, &class_name, &root, &path)) {
        return nullptr;
    }
    return PyLong_FromUnsignedLong(
        peakline_name_instance(address_of(object), class_name, root, path));
}

PyObject* knows_instance(PyObject*, PyObject* object) {
    return PyBool_FromLong(peakline_knows_instance(address_of(object)));
}

PyObject* learn_finalizer(PyObject*, PyObject* kind) {
    if (PyType_Check(kind) == 0) {
        PyErr_SetString(PyExc_TypeError, "a class is wanted");
        return nullptr;
    }
    void* const finalizer = PyType_GetSlot(reinterpret_cast<PyTypeObject*>(kind), Py_tp_finalize);
    return PyBool_FromLong(
        peakline_learn_finalizer(address_of(kind), reinterpret_cast<uint64_t>(finalizer)));
}

PyObject* watch_class(PyObject*, PyObject* kind) {
    return PyBool_FromLong(PyType_Check(kind) != 0 && peakline_watch_class(address_of(kind)) != 0);
}

PyObject* watch(PyObject*, PyObject* object) {
    // An object is finalised only once: if it survived that, its death is undetectable.
    const bool is_finalized = PyObject_GC_IsFinalized(object) != 0;
    return PyLong_FromUnsignedLongLong(is_finalized ? 0
                                                    : peakline_watch_object(address_of(object)));
}

PyObject* watched(PyObject*, PyObject* arguments) {
    unsigned long long address = 0;
    unsigned long long number = 0;
    if (!PyArg_ParseTuple(arguments, "KK", &address, &number)) {
        return nullptr;
    }
    if (peakline_is_object_alive(address, number) == 0) {
        Py_RETURN_NONE;
    }
    return Py_NewRef(reinterpret_cast<PyObject*>(address));
}

PyObject* objects_of(PyObject*, PyObject* classes) {
    std::unordered_set<const PyObject*> wanted;
    for (Py_ssize_t i = 0; i < PyList_Size(classes); ++i) {
        wanted.insert(PyList_GetItem(classes, i));
    }
    PyObject* const all = all_objects();
    PyObject* const found = PyList_New(0);
    const Py_ssize_t count = all == nullptr || found == nullptr ? 0 : PyList_Size(all);
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const object = PyList_GetItem(all, i);
        if (wanted.count(reinterpret_cast<PyObject*>(Py_TYPE(object))) != 0 &&
            PyList_Append(found, object) != 0) {
            break;
        }
    }
    Py_XDECREF(all);
    return PyErr_Occurred() == nullptr ? found : nullptr;
}

PyObject* define_tensor(PyObject*, PyObject* arguments) {
    unsigned kind = 0;
    const char* name = nullptr;
    const char* detail = nullptr;
    unsigned instance = 0;
    if (!PyArg_ParseTuple(arguments, "IszI", &kind, &name, &detail, &instance)) {
        return nullptr;
    }
    return PyLong_FromUnsignedLong(peakline_define_tensor(kind, name, detail, instance));
}

PyObject* tensor_type(PyObject*, PyObject* arguments) {
    PyObject* object = nullptr;
    PyObject* tensor_class = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO!", &object, &PyType_Type, &tensor_class)) {
        return nullptr;
    }
    const bool is_tensor =
        PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(tensor_class)) != 0;
    return PyLong_FromUnsignedLong(is_tensor ? peakline_tensor_type(address_of(object)) : 0);
}

PyObject* report_tensors(PyObject*, PyObject* arguments) {
    unsigned kind = 0;
    PyObject* list = nullptr;
    std::vector<PeaklineReportedTensor> reported;
    if (!PyArg_ParseTuple(arguments, "IO!", &kind, &PyList_Type, &list) ||
        !read_reported(list, &reported)) {
        return nullptr;
    }
    return PyLong_FromSize_t(peakline_report_tensors(kind, reported.data(), reported.size()));
}

PyObject* report_inputs(PyObject*, PyObject* arguments) {
    unsigned instance = 0;
    PyObject* list = nullptr;
    if (!PyArg_ParseTuple(arguments, "IO!", &instance, &PyList_Type, &list)) {
        return nullptr;
    }
    std::vector<uint64_t> addresses;
    for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
        addresses.push_back(PyLong_AsUnsignedLongLong(PyList_GetItem(list, i)));
    }
    if (PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    peakline_report_inputs(instance, addresses.data(), addresses.size());
    Py_RETURN_NONE;
}

}  // namespace peakline::pyhook
