#include "module_constants.h"

#include "allocator/capture/stack_capture.h"
#include "allocator/record/format/trace_format.h"
#include "preload/peakline_api.h"
#include "pyhook/frames/python_layout.h"

namespace peakline::pyhook {
namespace {

using capture::SafePoint;
using format::HoldReason;
using format::MarkKind;
using format::TensorKind;

struct Constant {
    const char* name;
    long value;

    template <class Enum>
    constexpr Constant(const char* called, Enum number)
        : name(called), value(static_cast<long>(number)) {}
};

constexpr Constant kConstants[] = {
    {"PHASE_BEGIN", MarkKind::kPhaseBegin},
    {"PHASE_END", MarkKind::kPhaseEnd},
    {"STEP", MarkKind::kStep},
    {"NOTE", MarkKind::kNote},
    {"NEW_INSTANCE", SafePoint::kNewInstance},
    {"OPTIMIZER_STEP", SafePoint::kOptimizerStep},
    {"UNTRACED_STEP", SafePoint::kUntracedStep},
    {"LAST_LOOK", SafePoint::kLastLook},
    {"OUT_OF_MEMORY", SafePoint::kOutOfMemory},
    {"LOOK", SafePoint::kLook},
    {"HOLD", SafePoint::kHold},
    {"NEXT_BATCH", SafePoint::kNextBatch},
    {"STEP_MARK", SafePoint::kStepMark},
    {"HOLD_ASKED", HoldReason::kAsked},
    {"HOLD_STEP", HoldReason::kStep},
    {"HOLD_SIGNAL", HoldReason::kSignal},
    {"HOLD_OUT_OF_MEMORY", HoldReason::kOutOfMemory},
    {"HOLD_END", HoldReason::kEnd},
    {"HOLD_MAIN", HoldReason::kMain},
    {"HOLD_BATCH", HoldReason::kBatch},
    {"HOLD_MARK", HoldReason::kMark},
    {"SEARCH_TIME_IS_UP", format::kTimeIsUp},
    {"SEARCH_TENSORS_UNKNOWN", format::kTensorsUnknown},
    {"SEARCH_FRAMES_UNKNOWN", format::kFramesUnknown},
    {"PARAMETER", TensorKind::kParameter},
    {"BUFFER", TensorKind::kBuffer},
    {"GRADIENT", TensorKind::kGradient},
    {"OPTIMIZER_STATE", TensorKind::kOptimizerState},
};

// Takes over the reference to `value`; returns false for nullptr.
bool add(PyObject* module, const char* name, PyObject* value) {
    const bool ok = value != nullptr && PyModule_AddObjectRef(module, name, value) == 0;
    Py_XDECREF(value);
    return ok;
}

// Takes over the reference to `list`; `ok`: all items were appended.
PyObject* as_tuple(PyObject* list, bool ok) {
    PyObject* tuple = ok ? PyList_AsTuple(list) : nullptr;
    Py_XDECREF(list);
    return tuple;
}

bool append(PyObject* list, PyObject* item) {
    const bool ok = list != nullptr && item != nullptr && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

PyObject* words_of(const char* option) {
    PyObject* list = PyList_New(0);
    bool ok = list != nullptr;
    const char* word = nullptr;
    for (size_t i = 0; ok && (word = peakline_option_word(option, i)) != nullptr; ++i) {
        ok = append(list, PyUnicode_FromString(word));
    }
    return as_tuple(list, ok);
}

PyObject* holder_kinds() {
    PyObject* list = PyList_New(0);
    bool ok = list != nullptr;
    for (const char* const word : format::kHolderKindNames) {
        ok = ok && append(list, PyUnicode_FromString(word));
    }
    return as_tuple(list, ok);
}

// ((3, 10), (3, 11), ...): the versions with known frame layouts.
PyObject* python_versions() {
    PyObject* list = PyList_New(0);
    bool ok = list != nullptr;
    for_each_layout(
        [&]<const PythonLayout & kRow>() {
            ok = ok && append(list, Py_BuildValue("(iI)", 3, kRow.minor));
        },
        KnownLayouts{});
    return as_tuple(list, ok);
}

}  // namespace

bool add_constants(PyObject* module) {
    for (const Constant& constant : kConstants) {
        if (PyModule_AddIntConstant(module, constant.name, constant.value) != 0) {
            return false;
        }
    }
    return add(module, "BACKENDS", words_of("backend")) &&
           add(module, "STACKS", words_of("stacks")) &&
           add(module, "HOLDER_KINDS", holder_kinds()) &&
           add(module, "PYTHON_VERSIONS", python_versions());
}

}  // namespace peakline::pyhook
