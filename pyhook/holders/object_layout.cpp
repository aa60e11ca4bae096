#include "object_layout.h"

#include "layout_reads.h"

namespace peakline::pyhook {
namespace {

// PyTypeObject and PyHeapTypeObject; the same from 3.10 on, except after tp_watched.
constexpr uint16_t kTypeBasicSize = 32;
constexpr uint64_t kFirstTypeName = 840;  // ht_name is at 848 in 3.11, at 856 in 3.12
constexpr uint64_t kLastTypeName = 872;
constexpr uint64_t kKeysBehindName = 24;  // ht_cached_keys, after slots and the qualified name
constexpr uint64_t kHeapType = 1U << 9;
constexpr uint64_t kManagedDict = 1U << 4;   // 3.11+
constexpr uint64_t kInlineValues = 1U << 2;  // 3.13+
// PyDictKeysObject
constexpr uint16_t kKeysIndexBits = 9;
constexpr uint16_t kKeysKind = 10;
constexpr uint16_t kKeysCount = 24;
constexpr uint16_t kKeysIndices = 32;
constexpr uint8_t kSplitKeys = 2;
constexpr int64_t kMostSharedKeys = 254;
// InstanceValues::kInside: four bytes come first; the last one shows whether they are valid.
constexpr uint16_t kValuesValid = 3;
constexpr uint16_t kValuesInside = 8;

// PyMemberDef. Its header differs between versions.
struct Member {
    const char* name;
    int type;
    Py_ssize_t offset;
    int flags;
    const char* doc;
};
constexpr int kObjectMember = 6;     // T_OBJECT
constexpr int kObjectMemberEx = 16;  // T_OBJECT_EX
constexpr int kRelativeOffset = 8;   // Py_RELATIVE_OFFSET

// The offset of a Python class's name, ht_name; 0: not at the offset of any known version.
uint64_t name_offset(PyTypeObject* type) {
    using NameOf = PyObject* (*)(PyTypeObject* type);
    static const auto name_of = function_named<NameOf>("PyType_GetName");  // 3.11+
    PyObject* const name = name_of == nullptr ? nullptr : name_of(type);
    uint64_t found = 0;
    for (uint64_t offset = kFirstTypeName; offset <= kLastTypeName && name != nullptr;
         offset += sizeof(uint64_t)) {
        if (found == 0 && word_of(type, offset) == reinterpret_cast<uint64_t>(name)) {
            found = offset;
        }
    }
    Py_XDECREF(name);  // the class holds it
    PyErr_Clear();
    return found;
}

// The keys shared by objects of this class; nullptr: none, or an unknown layout.
const void* shared_keys(PyTypeObject* type) {
    const bool is_of_python = (PyType_GetFlags(type) & kHeapType) != 0;
    const uint64_t name = is_of_python ? name_offset(type) : 0;
    if (name == 0) {
        return nullptr;
    }
    const auto* const keys = reinterpret_cast<const void*>(word_of(type, name + kKeysBehindName));
    return keys != nullptr && read_at<uint8_t>(keys, kKeysKind) == kSplitKeys ? keys : nullptr;
}

// The values of instance attributes without a dictionary.
const uint64_t* inline_values(PyObject* object) {
    const auto* const words = reinterpret_cast<const uint64_t*>(object);
    const unsigned long flags = PyType_GetFlags(Py_TYPE(object));
    const auto kind = layout() != nullptr ? layout()->instance_values : InstanceValues::kNone;
    if (kind == InstanceValues::kPointer && (flags & kManagedDict) != 0) {
        return reinterpret_cast<const uint64_t*>(words[-4]);
    }
    if (kind == InstanceValues::kTaggedPointer && (flags & kManagedDict) != 0) {
        return (words[-3] & 1U) != 0 ? reinterpret_cast<const uint64_t*>(words[-3] + 1) : nullptr;
    }
    if (kind == InstanceValues::kInside && (flags & kInlineValues) != 0) {
        const auto* const values =
            reinterpret_cast<const char*>(object) + word_of(Py_TYPE(object), kTypeBasicSize);
        const bool is_valid = read_at<uint8_t>(values, kValuesValid) == 1;
        return is_valid ? reinterpret_cast<const uint64_t*>(values + kValuesInside) : nullptr;
    }
    return nullptr;
}

std::string inline_attribute(PyObject* object, uint64_t value) {
    const uint64_t* const values = inline_values(object);
    const void* const keys = values != nullptr ? shared_keys(Py_TYPE(object)) : nullptr;
    if (keys == nullptr) {
        return {};
    }
    const auto count = read_at<int64_t>(keys, kKeysCount);
    const uint64_t entries = kKeysIndices + (uint64_t{1} << read_at<uint8_t>(keys, kKeysIndexBits));
    for (int64_t i = 0; i < count && count <= kMostSharedKeys; ++i) {
        if (values[i] == value) {
            return text_of(reinterpret_cast<PyObject*>(
                word_of(keys, entries + 2 * sizeof(uint64_t) * static_cast<uint64_t>(i))));
        }
    }
    return {};
}

std::string slot_attribute(PyObject* object, uint64_t value) {
    for (PyTypeObject* type = Py_TYPE(object); type != nullptr;
         type = static_cast<PyTypeObject*>(PyType_GetSlot(type, Py_tp_base))) {
        const auto* member = static_cast<const Member*>(PyType_GetSlot(type, Py_tp_members));
        for (; member != nullptr && member->name != nullptr; ++member) {
            const bool is_object = member->type == kObjectMember || member->type == kObjectMemberEx;
            if (is_object && member->offset > 0 && (member->flags & kRelativeOffset) == 0 &&
                word_of(object, static_cast<uint64_t>(member->offset)) == value) {
                return member->name;
            }
        }
    }
    return {};
}

}  // namespace

std::string text_of(PyObject* string) {
    if (string == nullptr || PyUnicode_Check(string) == 0) {
        return {};
    }
    PyObject* const bytes = PyUnicode_AsUTF8String(string);  // caches nothing in the string
    std::string text;
    if (bytes != nullptr) {
        text.assign(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)));
        Py_DECREF(bytes);
    }
    PyErr_Clear();
    return text;
}

size_t basic_size_of(PyObject* object) {
    return word_of(Py_TYPE(object), kTypeBasicSize);
}

std::string attribute_name(PyObject* object, PyObject* value) {
    const auto address = reinterpret_cast<uint64_t>(value);
    const std::string name = inline_attribute(object, address);
    return name.empty() ? slot_attribute(object, address) : name;
}

}  // namespace peakline::pyhook
