#include "object_layout.h"

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include "preload/peakline_api.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {
namespace {

// PyTypeObject and PyHeapTypeObject; the same from 3.10 on but for what lies behind tp_watched.
constexpr uint16_t kTypeBasicSize = 32;
constexpr uint64_t kFirstTypeName = 840;  // ht_name lies at 848 in 3.11, at 856 in 3.12
constexpr uint64_t kLastTypeName = 872;
constexpr uint64_t kKeysBehindName = 24;  // ht_cached_keys: slots and the qualified name first
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
// PyDictValues of 3.13, in the object: four bytes, the last one of which says that they are valid.
constexpr uint16_t kValuesValid = 3;
constexpr uint16_t kValuesFrom13 = 8;

constexpr uint16_t kFrameOfObject = 24;  // PyFrameObject.f_frame, 3.11+

// PyMemberDef; its header is not the same in all versions.
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

uint64_t word_of(const void* object, uint64_t offset) {
    uint64_t word = 0;
    memcpy(&word, static_cast<const char*>(object) + offset, sizeof word);
    return word;
}

const PythonLayout* layout() {
    static const PythonLayout* const known = layout_of(python_minor());
    return known;
}

template <class Function>
Function function_named(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// Where a class of Python keeps its name, ht_name; 0: not where any version that is known does.
uint64_t name_offset(PyTypeObject* type) {
    using NameOf = PyObject* (*)(PyTypeObject * type);
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

// The keys that objects of this class share; nullptr: it has none, or this is another layout.
const void* shared_keys(PyTypeObject* type) {
    const bool is_of_python = (PyType_GetFlags(type) & kHeapType) != 0;
    const uint64_t name = is_of_python ? name_offset(type) : 0;
    if (name == 0) {
        return nullptr;
    }
    const auto* const keys = reinterpret_cast<const void*>(word_of(type, name + kKeysBehindName));
    return keys != nullptr && read_at<uint8_t>(keys, kKeysKind) == kSplitKeys ? keys : nullptr;
}

// The values of instance attributes that have no dictionary yet.
const uint64_t* inline_values(PyObject* object) {
    const auto* const words = reinterpret_cast<const uint64_t*>(object);
    const unsigned long flags = PyType_GetFlags(Py_TYPE(object));
    if (python_minor() == 11 && (flags & kManagedDict) != 0) {
        return reinterpret_cast<const uint64_t*>(words[-4]);
    }
    if (python_minor() == 12 && (flags & kManagedDict) != 0) {
        return (words[-3] & 1U) != 0 ? reinterpret_cast<const uint64_t*>(words[-3] + 1) : nullptr;
    }
    if (python_minor() >= 13 && (flags & kInlineValues) != 0) {
        const auto* const values =
            reinterpret_cast<const char*>(object) + word_of(Py_TYPE(object), kTypeBasicSize);
        const bool is_valid = read_at<uint8_t>(values, kValuesValid) == 1;
        return is_valid ? reinterpret_cast<const uint64_t*>(values + kValuesFrom13) : nullptr;
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

FrameView view_of(const void* frame) {
    const PythonLayout& known = *layout();
    FrameView view;
    view.code = reinterpret_cast<PyObject*>(word_of(frame, known.frame_code) & known.code_mask);
    view.locals =
        reinterpret_cast<const uint64_t*>(static_cast<const char*>(frame) + known.frame_locals);
    view.position = known.position_is_index
                        ? static_cast<uint64_t>(read_at<int32_t>(frame, known.frame_position))
                        : word_of(frame, known.frame_position);
    return view;
}

// C code between functions, from 3.12 on: see kFirstShimOwner in frame_reads.h.
bool is_shim(const void* frame) {
    const PythonLayout& known = *layout();
    return known.frame_owner != 0 && read_at<uint8_t>(frame, known.frame_owner) >= 3;
}

void add_frames(const void* thread, std::vector<FrameView>* frames) {
    const PythonLayout& known = *layout();
    const void* frame = read_at<const void*>(thread, known.thread_frame);
    if (known.thread_frame_is_cframe && frame != nullptr) {
        frame = read_at<const void*>(frame, known.cframe_frame);
    }
    for (; frame != nullptr; frame = read_at<const void*>(frame, known.frame_previous)) {
        if (!is_shim(frame)) {
            frames->push_back(view_of(frame));
        }
    }
}

template <class Visit>
void for_each_thread(Visit visit) {
    static const auto first = function_named<void* (*)(void*)>("PyInterpreterState_ThreadHead");
    static const auto next = function_named<void* (*)(void*)>("PyThreadState_Next");
    if (first == nullptr || next == nullptr) {
        return;
    }
    for (void* thread = first(PyInterpreterState_Get()); thread != nullptr; thread = next(thread)) {
        visit(thread);
    }
}

bool is_code(PyObject* object) {
    static const auto* const type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    return Py_TYPE(object) == type;
}

// A tuple of strings of a code object, appended but for those that are there already.
void add_names(PyObject* code, const char* which, bool once, std::vector<std::string>* names) {
    PyObject* const tuple = PyObject_GetAttrString(code, which);
    const Py_ssize_t count = tuple == nullptr ? 0 : PyTuple_Size(tuple);
    for (Py_ssize_t i = 0; i < count; ++i) {
        const std::string name = text_of(PyTuple_GetItem(tuple, i));
        bool is_new = true;
        for (const std::string& known : *names) {
            is_new = is_new && known != name;
        }
        if (is_new || !once) {
            names->push_back(name);
        }
    }
    Py_XDECREF(tuple);
    PyErr_Clear();
}

std::string text_attribute(PyObject* code, const char* which) {
    PyObject* const value = PyObject_GetAttrString(code, which);
    std::string text = value == nullptr ? std::string() : text_of(value);
    Py_XDECREF(value);
    PyErr_Clear();
    return text;
}

}  // namespace

unsigned python_minor() {
    static const unsigned minor = [] {
        const char* const version = Py_GetVersion();
        const bool is_known = strncmp(version, "3.", 2) == 0;
        return is_known ? static_cast<unsigned>(strtoul(version + 2, nullptr, 10)) : 0U;
    }();
    return minor;
}

std::string text_of(PyObject* string) {
    if (string == nullptr || PyUnicode_Check(string) == 0) {
        return {};
    }
    PyObject* const bytes = PyUnicode_AsUTF8String(string);  // keeps nothing in the string
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

FrameView frame_of_object(PyObject* frame) {
    if (layout() == nullptr) {
        return {};
    }
    if (python_minor() < 11) {
        return view_of(frame);
    }
    return view_of(reinterpret_cast<const void*>(word_of(frame, kFrameOfObject)));
}

FrameView frame_of_generator(PyObject* generator) {
    FrameView view;
    PyObject* code = nullptr;
    for (const char* const which : {"gi_code", "cr_code", "ag_code"}) {
        if (code == nullptr) {
            code = PyObject_GetAttrString(generator, which);
            PyErr_Clear();
        }
    }
    // Its frame lies in the object, and names the code; the last word that does is the frame's.
    const uint64_t count = basic_size_of(generator) / sizeof(uint64_t);
    const bool is_known = code != nullptr && layout() != nullptr && python_minor() >= 11;
    for (uint64_t i = 2; i < count && is_known; ++i) {
        const uint64_t word = word_of(generator, i * sizeof(uint64_t)) & layout()->code_mask;
        if (word == reinterpret_cast<uint64_t>(code)) {
            view = view_of(reinterpret_cast<const char*>(generator) + i * sizeof(uint64_t) -
                           layout()->frame_code);
        }
    }
    Py_XDECREF(code);
    return view;
}

bool knows_frames() {
    PeaklineStatus status{};
    peakline_status(&status);
    return status.has_python_stacks != 0 && layout() != nullptr;
}

std::vector<FrameView> running_frames() {
    std::vector<FrameView> frames;
    if (knows_frames()) {
        for_each_thread([&](const void* thread) { add_frames(thread, &frames); });
    }
    return frames;
}

std::vector<PyObject*> thread_dictionaries() {
    std::vector<PyObject*> dictionaries;
    PyObject* const own = PyThreadState_GetDict();
    constexpr uint64_t kSearchedBytes = 512;
    uint64_t offset = 0;
    const auto* const own_thread = reinterpret_cast<const void*>(PyThreadState_Get());
    while (offset < kSearchedBytes &&
           word_of(own_thread, offset) != reinterpret_cast<uint64_t>(own)) {
        offset += sizeof(uint64_t);
    }
    if (own == nullptr || offset == kSearchedBytes) {
        return dictionaries;
    }
    for_each_thread([&](const void* thread) {
        auto* const dictionary = reinterpret_cast<PyObject*>(word_of(thread, offset));
        if (dictionary != nullptr && PyDict_CheckExact(dictionary) != 0) {
            dictionaries.push_back(dictionary);
        }
    });
    return dictionaries;
}

std::vector<Variable> variables_of(const FrameView& frame) {
    std::vector<Variable> variables;
    if (frame.code == nullptr || !is_code(frame.code)) {
        return variables;
    }
    const bool is_shared = python_minor() >= 11;  // an argument that is a cell has one place
    std::vector<std::string> names;
    add_names(frame.code, "co_varnames", false, &names);
    add_names(frame.code, "co_cellvars", is_shared, &names);
    add_names(frame.code, "co_freevars", is_shared, &names);
    for (size_t i = 0; i < names.size(); ++i) {
        const uint64_t value = frame.locals[i] & layout()->code_mask;
        if (value != 0) {
            variables.push_back({names[i], reinterpret_cast<PyObject*>(value)});
        }
    }
    return variables;
}

std::string place_of(const FrameView& frame) {
    using LineOf = int (*)(PyObject * code, int offset);
    static const auto line_of = function_named<LineOf>("PyCode_Addr2Line");
    const std::string file = file_of(frame.code);
    const PythonLayout& known = *layout();
    const auto start = reinterpret_cast<uint64_t>(frame.code) + known.code_bytecode;
    const auto offset =
        static_cast<int64_t>(known.position_is_index ? 2 * frame.position : frame.position - start);
    const int line = line_of == nullptr ? 0 : line_of(frame.code, static_cast<int>(offset));
    const size_t slash = file.rfind('/');
    return (slash == std::string::npos ? file : file.substr(slash + 1)) +
           (line > 0 ? ":" + std::to_string(line) : "");
}

std::string function_of(PyObject* code) {
    const std::string name = text_attribute(code, "co_qualname");
    return name.empty() ? text_attribute(code, "co_name") : name;
}

std::string file_of(PyObject* code) {
    return text_attribute(code, "co_filename");
}

}  // namespace peakline::pyhook
