#include "module_threads.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace peakline::pyhook {
namespace {

// Files of torch that set gradients, or wait for threads that do.
constexpr std::array<std::string_view, 4> kSetGradients{
    "/torch/nn/", "/torch/optim/", "/torch/autograd/", "/torch/_tensor.py"};

// A reference that is given back at the end of its scope.
class Owned {
public:
    explicit Owned(PyObject* object) : object_(object) {}
    ~Owned() { Py_XDECREF(object_); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    [[nodiscard]] PyObject* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr && object_ != Py_None; }

    void reset(PyObject* object) {
        Py_XDECREF(object_);
        object_ = object;
    }

private:
    PyObject* object_;
};

std::string_view text_of(const Owned& text) {
    Py_ssize_t size = 0;
    const char* const begin =
        text ? PyUnicode_AsUTF8AndSize(text.get(), &size) : nullptr;  // null: not UTF-8
    return begin != nullptr ? std::string_view(begin, static_cast<size_t>(size)) : "";
}

bool sets_gradients(std::string_view file) {
    return std::any_of(kSetGradients.begin(), kSetGradients.end(), [file](std::string_view part) {
        return file.find(part) != std::string_view::npos;
    });
}

// Whether the code of a frame, or of one of its callers, sets gradients.
bool any_sets_gradients(PyObject* innermost) {
    Py_INCREF(innermost);
    Owned frame(innermost);
    while (frame) {
        const Owned code(PyObject_GetAttrString(frame.get(), "f_code"));
        const Owned file(code ? PyObject_GetAttrString(code.get(), "co_filename") : nullptr);
        if (sets_gradients(text_of(file))) {
            return true;
        }
        frame.reset(PyObject_GetAttrString(frame.get(), "f_back"));
    }
    return false;
}

// Whether the frame waits in one of these instructions.
bool is_at(PyObject* frame, std::string_view opcodes) {
    const Owned code(PyObject_GetAttrString(frame, "f_code"));
    const Owned at(PyObject_GetAttrString(frame, "f_lasti"));
    const Owned bytes(code ? PyObject_GetAttrString(code.get(), "co_code") : nullptr);
    char* begin = nullptr;
    Py_ssize_t size = 0;
    if (!bytes || !at || PyBytes_AsStringAndSize(bytes.get(), &begin, &size) != 0) {
        return true;
    }
    const Py_ssize_t index = PyLong_AsSsize_t(at.get());
    return index >= 0 && index < size && opcodes.find(begin[index]) != std::string_view::npos;
}

// Whether another thread of Python may be destroying a gradient. On an error: yes.
bool may_be_destroyed(std::string_view opcodes) {
    PyObject* const current_frames = PySys_GetObject("_current_frames");
    const Owned frames(current_frames != nullptr ? PyObject_CallObject(current_frames, nullptr)
                                                 : nullptr);
    if (!frames || PyDict_Check(frames.get()) == 0) {
        return true;
    }
    const unsigned long own = PyThread_get_thread_ident();
    PyObject* thread = nullptr;
    PyObject* frame = nullptr;
    Py_ssize_t next = 0;
    while (PyDict_Next(frames.get(), &next, &thread, &frame) != 0) {
        if (PyLong_AsUnsignedLong(thread) != own &&
            (is_at(frame, opcodes) || any_sets_gradients(frame))) {
            return true;
        }
    }
    return false;
}

}  // namespace

PyObject* gradient_of(PyObject*, PyObject* arguments) {
    PyObject* parameter = nullptr;
    PyObject* bytes = nullptr;
    char* opcodes = nullptr;
    Py_ssize_t count = 0;
    if (!PyArg_ParseTuple(arguments, "OS", &parameter, &bytes) ||
        PyBytes_AsStringAndSize(bytes, &opcodes, &count) != 0) {
        return nullptr;
    }
    const bool is_unsafe = may_be_destroyed({opcodes, static_cast<size_t>(count)});
    if (is_unsafe || PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    return PyObject_GetAttrString(parameter, "grad");
}

}  // namespace peakline::pyhook
