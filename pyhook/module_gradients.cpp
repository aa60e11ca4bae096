#include "module_gradients.h"

#include <memory>

#include "preload/peakline_api.h"

namespace peakline::pyhook {
namespace {

constexpr char kFollowed[] = "peakline.gradients";

struct Followed {
    std::vector<const PyObject*> parameters;  // not owned: only compared
    PeaklineGradients* gradients = nullptr;   // null: cannot be followed

    Followed() = default;
    ~Followed() {
        if (gradients != nullptr) {
            peakline_forget_gradients(gradients);
        }
    }
    Followed(const Followed&) = delete;
    Followed& operator=(const Followed&) = delete;
};

Followed* followed_of(PyObject* capsule) {
    return static_cast<Followed*>(PyCapsule_GetPointer(capsule, kFollowed));
}

void forget(PyObject* capsule) {
    delete followed_of(capsule);
}

// Calls visit(parameter) for those of all groups until one is not wanted. False then, and where
// the groups are no lists of dictionaries of lists, as those of torch are.
template <class Visit>
bool all_parameters(PyObject* groups, Visit visit) {
    static PyObject* const key = PyUnicode_InternFromString("params");
    if (key == nullptr || PyList_Check(groups) == 0) {
        return false;
    }
    for (Py_ssize_t group = 0; group < PyList_Size(groups); ++group) {
        PyObject* const options = PyList_GetItem(groups, group);
        PyObject* const parameters =
            PyDict_Check(options) != 0 ? PyDict_GetItemWithError(options, key) : nullptr;
        if (parameters == nullptr || PyList_Check(parameters) == 0) {
            return false;
        }
        const Py_ssize_t count = PyList_Size(parameters);
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (!visit(PyList_GetItem(parameters, i))) {
                return false;
            }
        }
    }
    return true;
}

bool has_parameters(const Followed& followed, PyObject* groups) {
    auto expected = followed.parameters.begin();
    const auto end = followed.parameters.end();
    return all_parameters(groups,
                          [&](const PyObject* parameter) {
                              return expected != end && *expected++ == parameter;
                          }) &&
           expected == end;
}

}  // namespace

PyObject* follow_gradients(PyObject*, PyObject* arguments) {
    PyObject* list = nullptr;
    PyObject* groups = nullptr;
    std::vector<PeaklineParameter> parameters;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyList_Type, &list, &groups) ||
        !read_pairs(list, &parameters)) {
        return nullptr;
    }
    auto followed = std::make_unique<Followed>();
    const bool all_are_known = all_parameters(groups, [&](const PyObject* parameter) {
        followed->parameters.push_back(parameter);
        return true;
    });
    if (PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    if (all_are_known && parameters.size() == followed->parameters.size()) {
        followed->gradients = peakline_follow_gradients(parameters.data(), parameters.size());
    }
    PyObject* capsule = PyCapsule_New(followed.get(), kFollowed, forget);
    if (capsule != nullptr) {
        static_cast<void>(followed.release());  // the capsule's now
    }
    return capsule;
}

PyObject* tell_gradients(PyObject*, PyObject* arguments) {
    PyObject* capsule = nullptr;
    PyObject* groups = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &groups)) {
        return nullptr;
    }
    const Followed* followed = followed_of(capsule);
    if (followed == nullptr) {
        return nullptr;
    }
    // What the groups hold is alive, so the recorder may read it.
    if (!has_parameters(*followed, groups)) {
        if (PyErr_Occurred() != nullptr) {
            return nullptr;
        }
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(followed->gradients != nullptr &&
                           peakline_tell_gradients(followed->gradients) != 0);
}

}  // namespace peakline::pyhook
