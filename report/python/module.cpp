// The extension module peakline._report: the report engine for Python. Converts arguments and
// errors, and releases the GIL while the engine works. No logic lives here. Limited API of CPython
// 3.10: one binary serves all later versions.
#include <Python.h>

#include <iterator>

#include "engine_call.h"
#include "plain_pickle.h"
#include "report/attribute/keys/categories.h"
#include "report/replay/allocator_model/allocator_settings.h"
#include "report/reports/report.h"
#include "report/trace/pack.h"
#include "report/trace/writer/stored_outline.h"
#include "report/views/advice/advice.h"
#include "report/views/selection/selection.h"
#include "trace_type.h"
#include "writer_type.h"

namespace peakline::report::python {
namespace {

// pack(path, packed_path, level=9, progress=None) -> (raw bytes, packed bytes)
PyObject* pack(PyObject*, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"path", "packed_path", "level", "progress", nullptr};
    const char* path = nullptr;
    const char* packed_path = nullptr;
    int level = 9;
    PyObject* progress = Py_None;
    if (PyArg_ParseTupleAndKeywords(args,
                                    kwargs,
                                    "ss|iO:pack",
                                    const_cast<char**>(names),
                                    &path,
                                    &packed_path,
                                    &level,
                                    &progress) == 0) {
        return nullptr;
    }
    PackedSizes sizes;
    try {
        GilReleased gil;
        PyObject* callback = progress != Py_None ? progress : nullptr;
        sizes = pack_trace(path, packed_path, level, make_progress(callback, gil));
    } catch (...) {
        return translate_exception();
    }
    return Py_BuildValue("KK",
                         static_cast<unsigned long long>(sizes.raw_bytes),
                         static_cast<unsigned long long>(sizes.packed_bytes));
}

PyObject* keep_outline(PyObject*, PyObject* args) {
    const char* path = nullptr;
    const char* json = nullptr;
    if (PyArg_ParseTuple(args, "ss:store_outline", &path, &json) == 0) {
        return nullptr;
    }
    bool is_stored = false;
    try {
        const GilReleased gil;
        is_stored = store_outline(path, json);
    } catch (...) {
        return translate_exception();
    }
    return PyBool_FromLong(static_cast<long>(is_stored));
}

PyObject* keep_sources(PyObject*, PyObject* args) {
    const char* path = nullptr;
    if (PyArg_ParseTuple(args, "s:store_sources", &path) == 0) {
        return nullptr;
    }
    bool is_stored = false;
    try {
        const GilReleased gil;
        is_stored = store_sources(path);
    } catch (...) {
        return translate_exception();
    }
    return PyBool_FromLong(static_cast<long>(is_stored));
}

// split_rules(settings) -> (is_expandable, max_split_bytes)
PyObject* split_rules(PyObject*, PyObject* args) {
    const char* text = nullptr;
    if (PyArg_ParseTuple(args, "s:split_rules", &text) == 0) {
        return nullptr;
    }
    const AllocatorSettings settings = recorded_allocator_settings(text);
    return Py_BuildValue("NK",
                         PyBool_FromLong(static_cast<long>(settings.is_expandable)),
                         static_cast<unsigned long long>(settings.max_split_bytes));
}

// round_up(settings, requested_bytes) -> bytes
PyObject* round_up(PyObject*, PyObject* args) {
    const char* text = nullptr;
    unsigned long long bytes = 0;
    if (PyArg_ParseTuple(args, "sK:round_up", &text, &bytes) == 0) {
        return nullptr;
    }
    return PyLong_FromUnsignedLongLong(recorded_allocator_settings(text).round_up(bytes));
}

// {option: {word: meaning}}, the default first. --help lists it, and checks compare the docs with
// it.
PyObject* make_choices() {
    PyObject* choices = PyDict_New();
    for (const char* option : {"by", "frame", "at", "measure", "every-measure"}) {
        PyObject* words = PyDict_New();
        bool ok = choices != nullptr && words != nullptr;
        for (const auto& word : words_of_option(option)) {
            PyObject* help = PyUnicode_FromString(word.help);
            ok = ok && help != nullptr && PyDict_SetItemString(words, word.name, help) == 0;
            Py_XDECREF(help);
        }
        ok = ok && PyDict_SetItemString(choices, option, words) == 0;
        Py_XDECREF(words);
        if (!ok) {
            Py_XDECREF(choices);
            return nullptr;
        }
    }
    return choices;
}

// The rows of kCategories: (name, light and dark colour, the same of text on it).
PyObject* make_categories() {
    PyObject* rows = PyTuple_New(std::size(kCategories));
    for (size_t i = 0; rows != nullptr && i < std::size(kCategories); ++i) {
        const CategoryRow& row = kCategories[i];
        PyObject* one = Py_BuildValue(
            "s(ss)(ss)", row.name, row.fill.light, row.fill.dark, row.text.light, row.text.dark);
        if (one == nullptr || PyTuple_SetItem(rows, static_cast<Py_ssize_t>(i), one) != 0) {
            Py_CLEAR(rows);
        }
    }
    return rows;
}

PyMethodDef g_functions[] = {
    {"load_plain",
     load_plain,
     METH_VARARGS,
     "The pickled value: plain values only; ValueError: it has other objects, or is cut off."},
    {"split_rules",
     split_rules,
     METH_VARARGS,
     "Of settings of torch's allocator: is_expandable, max_split_bytes."},
    {"round_up",
     round_up,
     METH_VARARGS,
     "Rounds a request up as torch does: settings of its allocator, bytes."},
    {"store_outline",
     keep_outline,
     METH_VARARGS,
     "Put Trace.outline() into a closed trace (path, outline); False: it takes none."},
    {"store_sources",
     keep_sources,
     METH_VARARGS,
     "Put the lines of the frames' files into a closed trace (path); False: it takes none."},
    {"pack",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(pack)),
     METH_VARARGS | METH_KEYWORDS,
     "Write a trace in its packed form; returns its bytes before and after."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT,
    "_report",
    "Reads traces and makes reports of them.",
    -1,
    g_functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace peakline::report::python

PyMODINIT_FUNC PyInit__report() {
    namespace python = peakline::report::python;
    PyObject* module = PyModule_Create(&python::g_module);
    if (module == nullptr) {
        return nullptr;
    }
    const bool has_error = python::make_trace_error();
    PyObject* type = python::make_trace_type();
    PyObject* choices = python::make_choices();
    PyObject* categories = python::make_categories();
    PyObject* writer = python::make_writer_type();
    constexpr auto most_events = static_cast<long>(peakline::report::kMostEventsUnasked);
    if (!has_error || type == nullptr || choices == nullptr || categories == nullptr ||
        writer == nullptr || PyModule_AddObjectRef(module, "TraceWriter", writer) != 0 ||
        PyModule_AddObjectRef(module, "CHOICES", choices) != 0 ||
        PyModule_AddObjectRef(module, "CATEGORIES", categories) != 0 ||
        PyModule_AddIntConstant(module, "MOST_EVENTS_UNASKED", most_events) != 0 ||
        PyModule_AddIntConstant(module, "PINNED_DEVICE", peakline::format::kPinnedDevice) != 0 ||
        PyModule_AddIntConstant(module, "CPU_DEVICE", peakline::format::kCpuDevice) != 0 ||
        PyModule_AddObjectRef(module, "TraceError", python::trace_error()) != 0 ||
        PyModule_AddObjectRef(module, "Trace", type) != 0) {
        Py_XDECREF(type);
        Py_XDECREF(choices);
        Py_XDECREF(categories);
        Py_XDECREF(writer);
        Py_DECREF(module);
        return nullptr;
    }
    Py_DECREF(choices);
    Py_DECREF(categories);
    Py_DECREF(type);
    Py_DECREF(writer);
    return module;
}
