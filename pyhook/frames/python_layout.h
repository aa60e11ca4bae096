// CPython's offsets: one table row per minor version, for x86-64 builds with a GIL. No other file
// compares versions or has offsets that differ between them. The self-test (self_test.h) checks
// each row against the running interpreter before use: a wrong row disables Python stacks, and
// never gives a wrong stack. A version without a row has native stacks only.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace peakline::pyhook {

// Positions in _Py_DebugOffsets of the offsets below, in 8-byte words: internal/pycore_runtime.h in
// 3.13, internal/pycore_debug_offsets.h from 3.14 on. Stable within a minor version.
struct DebugOffsetWords {
    unsigned thread_frame;  // 0: this version publishes none
    unsigned frame_previous;
    unsigned frame_code;
    unsigned frame_position;
    unsigned frame_owner;
    unsigned code_file;
    unsigned code_first_line;
    unsigned code_bytecode;
};

// The values of instance attributes while the object has no dictionary: PyDictValues.
enum class InstanceValues : uint8_t {
    kNone,           // always in a dictionary
    kPointer,        // a pointer four words before the object
    kTaggedPointer,  // three words before it, minus one; an even word points to a dictionary
    kInside,         // behind the fields of the object's class, after four bytes of sizes and state
};

// Sources, by column; "struct" means offsetof() of the headers of that release.
//   3.10  PyThreadState (cpython/pystate.h), PyFrameObject (cpython/frameobject.h),
//         PyCodeObject (cpython/code.h)
//   3.11  _PyCFrame (cpython/pystate.h), _PyInterpreterFrame (internal/pycore_frame.h)
//   3.12  the same files; shim frames appear (owner FRAME_OWNED_BY_CSTACK = 3)
//   3.13  PyThreadState.current_frame again direct; frames say instr_ptr, not prev_instr
//   3.14  internal/pycore_interpframe_structs.h: f_executable is a _PyStackRef (low two bits are
//         tags), stackpointer widens the frame by four bytes before owner
// Instance values: _PyObject_ValuesPointer() and later _PyObject_InlineValues()
// (internal/pycore_object.h).
// Strings: PyASCIIObject, PyCompactUnicodeObject (cpython/unicodeobject.h); 3.12 dropped wstr.
struct PythonLayout {
    unsigned minor;  // of 3.x

    // PyThreadState
    uint16_t thread_frame;        // the top frame, or the _PyCFrame that holds it
    bool thread_frame_is_cframe;  // 3.11, 3.12
    uint16_t cframe_frame;

    // PyFrameObject (3.10) or _PyInterpreterFrame
    uint16_t frame_code;
    uint16_t frame_previous;
    uint16_t frame_position;
    uint16_t frame_owner;    // 0: every frame is a Python frame
    uint16_t frame_locals;   // the first local variable
    bool position_is_index;  // 3.10: f_lasti, a signed count of 2-byte code units
    uint64_t code_mask;      // clears the tags of a _PyStackRef

    // PyCodeObject
    uint16_t code_first_line;
    uint16_t code_file;
    uint16_t code_name;
    uint16_t code_qualified_name;  // equals code_name where there is none
    uint16_t code_line_table;
    uint16_t code_first_traceable;  // 0: none
    uint16_t code_bytecode;         // 0: outside the code object

    // PyUnicodeObject
    uint16_t ascii_bytes;    // size of PyASCIIObject: the characters follow
    uint16_t compact_bytes;  // size of PyCompactUnicodeObject

    // For the search for holders (pyhook/holders); tests/unit/pyhook/test_object_layout.py.
    uint16_t object_frame;  // PyFrameObject.f_frame; 0: the frame is the object
    InstanceValues instance_values;

    DebugOffsetWords published;
};

inline constexpr uint64_t kPlainPointer = ~uint64_t{0};
inline constexpr uint64_t kTaggedPointer = ~uint64_t{3};

// clang-format off
inline constexpr PythonLayout kLayout310 = {
    .minor = 10, .thread_frame = 24, .thread_frame_is_cframe = false, .cframe_frame = 0,
    .frame_code = 32, .frame_previous = 24, .frame_position = 96, .frame_owner = 0, .frame_locals = 352,
    .position_is_index = true, .code_mask = kPlainPointer,
    .code_first_line = 40, .code_file = 104, .code_name = 112, .code_qualified_name = 112,
    .code_line_table = 120, .code_first_traceable = 0, .code_bytecode = 0,
    .ascii_bytes = 48, .compact_bytes = 72,
    .object_frame = 0, .instance_values = InstanceValues::kNone,
    .published = {}};
inline constexpr PythonLayout kLayout311 = {
    .minor = 11, .thread_frame = 56, .thread_frame_is_cframe = true, .cframe_frame = 8,
    .frame_code = 32, .frame_previous = 48, .frame_position = 56, .frame_owner = 0, .frame_locals = 72,
    .position_is_index = false, .code_mask = kPlainPointer,
    .code_first_line = 72, .code_file = 112, .code_name = 120, .code_qualified_name = 128,
    .code_line_table = 136, .code_first_traceable = 168, .code_bytecode = 184,
    .ascii_bytes = 48, .compact_bytes = 72,
    .object_frame = 24, .instance_values = InstanceValues::kPointer,
    .published = {}};
inline constexpr PythonLayout kLayout312 = {
    .minor = 12, .thread_frame = 56, .thread_frame_is_cframe = true, .cframe_frame = 0,
    .frame_code = 0, .frame_previous = 8, .frame_position = 56, .frame_owner = 70, .frame_locals = 72,
    .position_is_index = false, .code_mask = kPlainPointer,
    .code_first_line = 68, .code_file = 112, .code_name = 120, .code_qualified_name = 128,
    .code_line_table = 136, .code_first_traceable = 176, .code_bytecode = 192,
    .ascii_bytes = 40, .compact_bytes = 56,
    .object_frame = 24, .instance_values = InstanceValues::kTaggedPointer,
    .published = {}};
inline constexpr PythonLayout kLayout313 = {
    .minor = 13, .thread_frame = 72, .thread_frame_is_cframe = false, .cframe_frame = 0,
    .frame_code = 0, .frame_previous = 8, .frame_position = 56, .frame_owner = 70, .frame_locals = 72,
    .position_is_index = false, .code_mask = kPlainPointer,
    .code_first_line = 68, .code_file = 112, .code_name = 120, .code_qualified_name = 128,
    .code_line_table = 136, .code_first_traceable = 184, .code_bytecode = 200,
    .ascii_bytes = 40, .compact_bytes = 56,
    .object_frame = 24, .instance_values = InstanceValues::kInside,
    .published = {23, 29, 30, 31, 33, 35, 39, 43}};
inline constexpr PythonLayout kLayout314 = {
    .minor = 14, .thread_frame = 72, .thread_frame_is_cframe = false, .cframe_frame = 0,
    .frame_code = 0, .frame_previous = 8, .frame_position = 56, .frame_owner = 74, .frame_locals = 80,
    .position_is_index = false, .code_mask = kTaggedPointer,
    .code_first_line = 68, .code_file = 112, .code_name = 120, .code_qualified_name = 128,
    .code_line_table = 136, .code_first_traceable = 192, .code_bytecode = 208,
    .ascii_bytes = 40, .compact_bytes = 56,
    .object_frame = 24, .instance_values = InstanceValues::kInside,
    .published = {26, 32, 33, 34, 36, 40, 44, 48}};
// clang-format on

template <const PythonLayout&... kRows>
struct LayoutList {};
using KnownLayouts = LayoutList<kLayout310, kLayout311, kLayout312, kLayout313, kLayout314>;

// Calls visit.operator()<row>() for every known version, in order.
template <class Visit, const PythonLayout&... kRows>
constexpr void for_each_layout(Visit visit, LayoutList<kRows...>) {
    (visit.template operator()<kRows>(), ...);
}

// Offsets that are the same in every version: PyObject, PyVarObject, PyBytesObject, PyTypeObject,
// PyASCIIObject.
inline constexpr uint16_t kObjectType = 8;
inline constexpr uint16_t kVarObjectSize = 16;
inline constexpr uint16_t kBytesData = 32;
inline constexpr uint16_t kTypeName = 24;
inline constexpr uint16_t kTypeDealloc = 48;
inline constexpr uint16_t kTypeFlags = 168;
inline constexpr uint16_t kTypeOrder = 344;  // the tuple tp_mro
inline constexpr uint16_t kTypeFinalize = 392;
inline constexpr uint16_t kTupleItems = 24;
inline constexpr uint16_t kUnicodeLength = 16;
inline constexpr uint16_t kUnicodeState = 32;

// The layout of a version as Py_GetVersion() returns it; nullptr: an unknown version.
inline const PythonLayout* layout_of(const char* version) {
    if (strncmp(version, "3.", 2) != 0) {
        return nullptr;
    }
    const unsigned long minor = strtoul(version + 2, nullptr, 10);
    const PythonLayout* found = nullptr;
    const auto compare = [&]<const PythonLayout & kRow>() {
        found = kRow.minor == minor ? &kRow : found;
    };
    for_each_layout(compare, KnownLayouts());
    return found;
}

template <class T>
inline T read_at(const void* object, uint16_t offset) {
    T value;
    __builtin_memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
    return value;
}

}  // namespace peakline::pyhook
