#include "plain_values.h"

#include <cstdint>
#include <cstring>

#include "engine_call.h"

namespace peakline::report::python {
namespace {

constexpr long long kMostKey = 1LL << 60;  // numbers up to here are their own hashes

}  // namespace

void refuse_bad_data() {
    throw Refused{"not a pickle, or cut off"};
}

Held made(PyObject* object) {
    if (object == nullptr) {
        throw PythonRaised();
    }
    return Held(object);
}

void check(int result) {
    if (result != 0) {
        throw PythonRaised();
    }
}

Held integer_of(std::string_view bytes) {
    const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
    unsigned char all[kMostIntegerBytes];
    std::memset(all, is_negative ? 0xff : 0, sizeof(all));
    std::memcpy(all, bytes.data(), bytes.size());
    uint64_t low = 0;
    int64_t high = 0;
    std::memcpy(&low, all, 8);
    std::memcpy(&high, all + 8, 8);
    if (bytes.size() <= 8) {
        return made(PyLong_FromLongLong(static_cast<int64_t>(low)));
    }
    const Held upper = made(PyLong_FromLongLong(high));
    const Held lower = made(PyLong_FromUnsignedLongLong(low));
    const Held shift = made(PyLong_FromLong(64));
    const Held shifted = made(PyNumber_Lshift(upper.get(), shift.get()));
    return made(PyNumber_Or(shifted.get(), lower.get()));
}

Held text_of(std::string_view utf8) {
    PyObject* object =
        PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "surrogatepass");
    if (object == nullptr && PyErr_ExceptionMatches(PyExc_UnicodeError) != 0) {
        PyErr_Clear();
        refuse_bad_data();
    }
    return made(object);
}

Held bytes_of(std::string_view bytes) {
    return made(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

Held tuple_of(std::vector<Held> items) {
    Held tuple = made(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; i < items.size(); ++i) {
        check(PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), items[i].release()));
    }
    return tuple;
}

PyObject* key_of(const Held& value) {
    PyObject* object = value.get();
    if (PyUnicode_CheckExact(object)) {
        return object;
    }
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0 && -kMostKey < number && number < kMostKey) {
            return object;
        }
    }
    throw Refused{"the file has a dictionary with keys that are neither texts nor small numbers"};
}

std::string utf8_of(const Held& text) {
    if (!PyUnicode_CheckExact(text.get())) {
        refuse_bad_data();
    }
    const Held bytes = made(PyUnicode_AsEncodedString(text.get(), "utf-8", "replace"));
    return PyBytes_AsString(bytes.get());
}

}  // namespace peakline::report::python
