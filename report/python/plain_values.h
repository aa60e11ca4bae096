// The values that a plain pickle may have, as Python objects: references that are held, values from
// bytes of the file, and keys that cost no time. Everything here throws; plain_pickle.cpp catches.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peakline::report::python {

// The reason to refuse a file, in words for the user.
struct Refused {
    std::string why;
};
[[noreturn]] void refuse_bad_data();

// A reference that is held.
class Held {
public:
    explicit Held(PyObject* object = nullptr) : object_(object) {}
    Held(Held&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Held& operator=(Held&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { Py_XDECREF(object_); }
    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* object = object_;
        object_ = nullptr;
        return object;
    }

private:
    PyObject* object_;
};

// Takes a new reference; an exception from Python ends the work.
Held made(PyObject* object);
void check(int result);

inline constexpr uint64_t kMostIntegerBytes = 16;  // a snapshot's counters have 8
// Little-endian, with a sign; at most kMostIntegerBytes.
Held integer_of(std::string_view bytes);
Held text_of(std::string_view utf8);
Held bytes_of(std::string_view bytes);
Held tuple_of(std::vector<Held> items);

// Accepts a key of a dictionary or a set only if its hash takes no time and collides with no
// other.
PyObject* key_of(const Held& value);
// Refuses anything but a text.
std::string utf8_of(const Held& text);

}  // namespace peakline::report::python
