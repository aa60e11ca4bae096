#include "module_gradients.h"

#include <cstring>
#include <memory>

#include "preload/peakline_api.h"

namespace peakline::pyhook {
namespace {

constexpr char kFollowed[] = "peakline.gradients";

struct Followed {
    std::vector<const PyObject*> parameters;     // not owned: only compared
    std::vector<PeaklineParameter> gradient_of;  // the same, with their TensorImpl then
    size_t impl_offset = 0;                      // offset of the TensorImpl in their objects
    PeaklineGradients* gradients = nullptr;      // null: they cannot be followed

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

// Calls visit(parameter) for each parameter of all groups until it returns false. Returns false
// then, and if the groups are not lists of dictionaries of lists, as in torch.
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

uint64_t word_at(const PyObject* object, size_t offset) {
    uint64_t word = 0;
    memcpy(&word, reinterpret_cast<const char*>(object) + offset, sizeof word);
    return word;
}

// Offset of the TensorImpl in torch's tensor objects: one of the first words after the header, the
// same in all of them. 0: not there.
size_t find_impl_offset(const Followed& followed) {
    constexpr size_t kSearchedBytes = sizeof(PyObject) + 4 * sizeof(uint64_t);
    for (size_t offset = sizeof(PyObject); offset < kSearchedBytes; offset += sizeof(uint64_t)) {
        bool all_have_it = true;
        for (size_t i = 0; i < followed.parameters.size() && all_have_it; ++i) {
            all_have_it =
                word_at(followed.parameters[i], offset) == followed.gradient_of[i].tensor_impl;
        }
        if (all_have_it) {
            return offset;
        }
    }
    return 0;
}

// Whether the groups still have these parameters with the same TensorImpl, which
// torch.utils.swap_tensors() changes.
bool has_parameters(const Followed& followed, PyObject* groups) {
    const size_t count = followed.parameters.size();
    size_t i = 0;
    const auto is_next = [&](const PyObject* parameter) {
        const bool is_same =
            i < count && followed.parameters[i] == parameter &&
            (followed.gradients == nullptr ||
             word_at(parameter, followed.impl_offset) == followed.gradient_of[i].tensor_impl);
        ++i;
        return is_same;
    };
    return all_parameters(groups, is_next) && i == count;
}

}  // namespace

PyObject* follow_gradients(PyObject*, PyObject* arguments) {
    PyObject* list = nullptr;
    PyObject* groups = nullptr;
    auto followed = std::make_unique<Followed>();
    std::vector<PeaklineParameter>& parameters = followed->gradient_of;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyList_Type, &list, &groups) ||
        !read_pairs(list, &parameters)) {
        return nullptr;
    }
    const bool all_are_known = all_parameters(groups, [&](const PyObject* parameter) {
        followed->parameters.push_back(parameter);
        return true;
    });
    if (PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    if (all_are_known && parameters.size() == followed->parameters.size()) {
        followed->impl_offset = find_impl_offset(*followed);
    }
    if (followed->impl_offset != 0) {
        followed->gradients = peakline_follow_gradients(parameters.data(), parameters.size());
    }
    PyObject* capsule = PyCapsule_New(followed.get(), kFollowed, forget);
    if (capsule != nullptr) {
        static_cast<void>(followed.release());  // now owned by the capsule
    }
    return capsule;
}

PyObject* report_gradients(PyObject*, PyObject* arguments) {
    PyObject* capsule = nullptr;
    PyObject* groups = nullptr;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &groups)) {
        return nullptr;
    }
    const Followed* followed = followed_of(capsule);
    if (followed == nullptr) {
        return nullptr;
    }
    // The groups keep their parameters alive, so the recorder may read them.
    if (!has_parameters(*followed, groups)) {
        if (PyErr_Occurred() != nullptr) {
            return nullptr;
        }
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(followed->gradients != nullptr &&
                           peakline_report_gradients(followed->gradients) != 0);
}

}  // namespace peakline::pyhook
