// peakline._recorder: the recorder of this process, for the Python package. Converts arguments and
// results; contains no logic.
#include <cerrno>
#include <cstdint>

#include "module_adoption.h"
#include "module_constants.h"
#include "module_files.h"
#include "module_gradients.h"
#include "module_objects.h"
#include "module_python.h"
#include "module_threads.h"
#include "preload/peakline_api.h"
#include "pyhook/holders/search.h"

namespace {

using peakline::pyhook::add_constants;
using peakline::pyhook::adopt;
using peakline::pyhook::await_frame;
using peakline::pyhook::define_tensor;
using peakline::pyhook::follow_gradients;
using peakline::pyhook::gradient_of;
using peakline::pyhook::hold;
using peakline::pyhook::is_frame_returning;
using peakline::pyhook::knows_instance;
using peakline::pyhook::learn_finalizer;
using peakline::pyhook::name_instance;
using peakline::pyhook::note;
using peakline::pyhook::objects_of;
using peakline::pyhook::own_instance;
using peakline::pyhook::read_file;
using peakline::pyhook::remember_lines;
using peakline::pyhook::report_gradients;
using peakline::pyhook::report_inputs;
using peakline::pyhook::report_tensors;
using peakline::pyhook::say;
using peakline::pyhook::tensor_type;
using peakline::pyhook::watch;
using peakline::pyhook::watch_class;
using peakline::pyhook::watch_methods;
using peakline::pyhook::watched;

PyObject* g_recorder_error = nullptr;

PyObject* switch_allocator(PyObject*, PyObject*) {
    char message[512] = "";
    const int32_t result = peakline_enter(kPeaklineSwitchAllocator, message, sizeof message);
    if (result == kPeaklineFailed) {
        PyErr_SetString(g_recorder_error, message);
        return nullptr;
    }
    return PyBool_FromLong(result == kPeaklineLate);
}

PyObject* attach_python(PyObject*, PyObject*) {
    peakline_attach_python();
    Py_RETURN_NONE;
}

PyObject* use_plain_allocator(PyObject*, PyObject*) {
    char message[512] = "";
    if (peakline_enter(kPeaklinePluggable, message, sizeof message) == kPeaklineFailed) {
        PyErr_SetString(g_recorder_error, message);
        return nullptr;
    }
    Py_RETURN_NONE;
}

PyObject* start_tracing(PyObject*, PyObject*) {
    peakline_start_tracing();
    Py_RETURN_NONE;
}

PyObject* stop_tracing(PyObject*, PyObject*) {
    peakline_stop_tracing();
    Py_RETURN_NONE;
}

PyObject* reset_peaks(PyObject*, PyObject*) {
    peakline_reset_peaks();
    Py_RETURN_NONE;
}

PyObject* mark(PyObject*, PyObject* arguments) {
    unsigned kind = 0;
    const char* name = nullptr;
    if (!PyArg_ParseTuple(arguments, "Iz", &kind, &name)) {
        return nullptr;
    }
    peakline_mark(kind, name);
    Py_RETURN_NONE;
}

PyObject* open_trace(PyObject*, PyObject* arguments) {
    const char* path = nullptr;
    int replace = 0;
    if (!PyArg_ParseTuple(arguments, "sp", &path, &replace)) {
        return nullptr;
    }
    const int error = peakline_open_trace(path, replace);
    if (error != 0) {
        errno = error;
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    }
    Py_RETURN_NONE;
}

PyObject* expand_trace_name(PyObject*, PyObject* arguments) {
    const char* name_template = nullptr;
    char path[4096];
    if (!PyArg_ParseTuple(arguments, "s", &name_template)) {
        return nullptr;
    }
    if (peakline_expand_trace_name(name_template, path, sizeof path) == 0) {
        PyErr_SetString(PyExc_ValueError, "the name is too long");
        return nullptr;
    }
    return PyUnicode_DecodeFSDefault(path);
}

PyObject* close_trace(PyObject*, PyObject*) {
    peakline_close_trace();
    Py_RETURN_NONE;
}

PyObject* trace_path(PyObject*, PyObject*) {
    return PyUnicode_DecodeFSDefault(peakline_trace_path());
}

PyObject* summary_trace(PyObject*, PyObject*) {
    PeaklineSummary summary{};
    if (peakline_write_summary(&summary) != 0) {
        PyErr_SetString(g_recorder_error,
                        "nothing is recorded: call peakline.switch_allocator() first");
        return nullptr;
    }
    PyObject* bytes = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(summary.data),
                                                static_cast<Py_ssize_t>(summary.size));
    peakline_free_summary(&summary);
    return bytes;
}

bool set_item(PyObject* dict, const char* key, PyObject* value) {
    const bool ok = value != nullptr && PyDict_SetItemString(dict, key, value) == 0;
    Py_XDECREF(value);
    return ok;
}

PyObject* status(PyObject*, PyObject*) {
    PeaklineStatus now{};
    peakline_status(&now);
    PyObject* dict = PyDict_New();
    if (dict == nullptr) {
        return nullptr;
    }
    const struct {
        const char* key;
        uint64_t value;
    } numbers[] = {
        {"allocs", now.allocs},
        {"frees", now.frees},
        {"unknown_frees", now.unknown_frees},
        {"records_dropped", now.records_dropped},
        {"bytes_dropped", now.bytes_dropped},
        {"baseline_corrections", now.baseline_corrections},
        {"stack_table_full", now.stack_table_full},
        {"trace_bytes", now.trace_bytes},
        {"trace_events", now.trace_events},
    };
    bool ok = true;
    for (const auto& row : numbers) {
        ok = ok && set_item(dict, row.key, PyLong_FromUnsignedLongLong(row.value));
    }
    ok = ok && set_item(dict, "is_on", PyBool_FromLong(now.is_on)) &&
         set_item(dict, "is_tracing", PyBool_FromLong(now.is_tracing)) &&
         set_item(dict, "has_python_stacks", PyBool_FromLong(now.has_python_stacks)) &&
         set_item(dict, "allocator_is_ours", PyBool_FromLong(now.allocator_is_ours)) &&
         set_item(dict, "backend", PyUnicode_FromString(now.backend)) &&
         set_item(dict, "note", PyUnicode_FromString(now.note));
    if (!ok) {
        Py_DECREF(dict);
        return nullptr;
    }
    return dict;
}

PyObject* device_bytes(PyObject*, PyObject* arguments) {
    unsigned device = 0;
    unsigned measure = 0;
    int peak = 0;
    if (!PyArg_ParseTuple(arguments, "IIp", &device, &measure, &peak)) {
        return nullptr;
    }
    return PyLong_FromUnsignedLongLong(peakline_device_bytes(device, measure, peak));
}

PyObject* take_peak_bytes(PyObject*, PyObject*) {
    return PyLong_FromUnsignedLongLong(peakline_take_peak_bytes());
}

PyObject* safe_point(PyObject*, PyObject* reason) {
    const unsigned long value = PyLong_AsUnsignedLong(reason);
    if (PyErr_Occurred() != nullptr) {
        return nullptr;
    }
    peakline_safe_point(static_cast<uint32_t>(value));
    Py_RETURN_NONE;
}

PyObject* put_meta(PyObject*, PyObject* arguments) {
    const char* key = nullptr;
    const char* value = nullptr;
    if (!PyArg_ParseTuple(arguments, "ss", &key, &value)) {
        return nullptr;
    }
    peakline_put_meta(key, value);
    Py_RETURN_NONE;
}

PyObject* assume(PyObject*, PyObject* arguments) {
    const char* rule = nullptr;
    if (!PyArg_ParseTuple(arguments, "s", &rule)) {
        return nullptr;
    }
    return PyBool_FromLong(peakline_assume(rule));
}

PyObject* assume_no_more(PyObject*, PyObject* arguments) {
    const char* rule = nullptr;
    if (!PyArg_ParseTuple(arguments, "s", &rule)) {
        return nullptr;
    }
    peakline_assume_no_more(rule);
    Py_RETURN_NONE;
}

PyObject* keep_problem(PyObject*, PyObject* arguments) {
    const char* text = nullptr;
    if (!PyArg_ParseTuple(arguments, "s", &text)) {
        return nullptr;
    }
    return PyUnicode_FromString(peakline_keep_problem(text));
}

PyObject* job_of_rank(PyObject*, PyObject*) {
    return PyUnicode_DecodeFSDefault(peakline_job_of_rank());
}

PyObject* torch_part_name(PyObject*, PyObject* arguments) {
    const char* version = nullptr;
    const char* build = nullptr;
    char name[256];
    if (!PyArg_ParseTuple(arguments, "ss", &version, &build)) {
        return nullptr;
    }
    peakline_torch_part_name(version, build, name, sizeof name);
    return PyUnicode_DecodeFSDefault(name);
}

PyObject* cache_folder(PyObject*, PyObject*) {
    PeaklineCacheFolder found{};
    peakline_cache_folder(&found);
    return Py_BuildValue(
        "(NN)", PyUnicode_DecodeFSDefault(found.folder), PyUnicode_DecodeFSDefault(found.refusal));
}

PyObject* load_problem(PyObject*, PyObject* path) {
    PyObject* bytes = nullptr;
    char why[sizeof PeaklineCacheFolder().refusal];
    if (PyUnicode_FSConverter(path, &bytes) == 0) {
        return nullptr;
    }
    peakline_load_problem(PyBytes_AsString(bytes), why, sizeof why);
    Py_DECREF(bytes);
    return PyUnicode_DecodeFSDefault(why);
}

PyMethodDef g_methods[] = {
    {"assume", assume, METH_VARARGS, "Set a value of a simulated device (WHERE=VALUE)."},
    {"assume_no_more", assume_no_more, METH_VARARGS, "Remove a rule."},
    {"switch_allocator",
     switch_allocator,
     METH_NOARGS,
     "Install the recorder. True: call `adopt` next."},
    {"job_of_rank", job_of_rank, METH_NOARGS, "The launcher's name of the job, or ''."},
    {"keep_problem", keep_problem, METH_VARARGS, "The problem with a value of --keep, or ''."},
    {"torch_part_name",
     torch_part_name,
     METH_VARARGS,
     "The name in the cache of the part for torch (version, build)."},
    {"cache_folder", cache_folder, METH_NOARGS, "The folder for compiled libraries."},
    {"load_problem", load_problem, METH_O, "Why a path of the cache may not be loaded, or ''."},
    {"adopt", adopt, METH_VARARGS, "Report blocks and segments held already."},
    {"attach_python", attach_python, METH_NOARGS, "Find and verify the interpreter."},
    {"use_plain_allocator", use_plain_allocator, METH_NOARGS, "Record peakline_malloc's blocks."},
    {"start_tracing", start_tracing, METH_NOARGS, "Begin a traced range."},
    {"stop_tracing", stop_tracing, METH_NOARGS, "End a traced range."},
    {"reset_peaks", reset_peaks, METH_NOARGS, "Forget peaks and totals."},
    {"mark", mark, METH_VARARGS, "Write a mark (kind, name or None)."},
    {"open_trace", open_trace, METH_VARARGS, "Open a trace file (path, replace)."},
    {"close_trace", close_trace, METH_NOARGS, "Close the trace file."},
    {"expand_trace_name", expand_trace_name, METH_VARARGS, "Path that a template gives here."},
    {"trace_path", trace_path, METH_NOARGS, "Path of the open trace, or ''."},
    {"summary_trace", summary_trace, METH_NOARGS, "A trace with the live sets at peak and now."},
    {"status", status, METH_NOARGS, "Counters and state of the recorder."},
    {"device_bytes", device_bytes, METH_VARARGS, "Bytes of a device (device, measure, peak)."},
    {"take_peak_bytes", take_peak_bytes, METH_NOARGS, "Peak of all GPUs since the last call."},
    {"watch_methods", watch_methods, METH_VARARGS, "Add `self` of these code objects to stacks."},
    {"own_instance", own_instance, METH_NOARGS, "Address of the innermost watched `self`."},
    {"name_instance", name_instance, METH_VARARGS, "Name an object (object, class, root, path)."},
    {"knows_instance", knows_instance, METH_O, "Whether a stack has shown this object."},
    {"learn_finalizer", learn_finalizer, METH_O, "Learn how classes with a __del__ finalise."},
    {"objects_of", objects_of, METH_O, "All objects of exactly these classes."},
    {"watch_class", watch_class, METH_O, "Whether deaths of this class's objects are seen now."},
    {"watch", watch, METH_O, "A number of this object until it dies; 0: it cannot be watched."},
    {"watched", watched, METH_VARARGS, "The object (id, number), or None when it has died."},
    {"define_tensor", define_tensor, METH_VARARGS, "Id of (kind, name, detail, instance)."},
    {"tensor_type", tensor_type, METH_VARARGS, "Id of shape and dtype (object, torch.Tensor)."},
    {"report_tensors",
     report_tensors,
     METH_VARARGS,
     "Storages (kind, [address, tensor, type ...])."},
    {"report_inputs",
     report_inputs,
     METH_VARARGS,
     "Storages of arguments (instance, [address ...])."},
    {"follow_gradients",
     follow_gradients,
     METH_VARARGS,
     "Follow gradients ([Tensor._cdata, tensor, ...], param_groups) until the result dies."},
    {"report_gradients",
     report_gradients,
     METH_VARARGS,
     "Report gradients of (followed, param_groups). False: check each parameter; None: the groups "
     "have other parameters now."},
    {"gradient_of",
     gradient_of,
     METH_VARARGS,
     "The gradient of (parameter, opcodes), unless another thread may be destroying it."},
    {"put_meta", put_meta, METH_VARARGS, "A fact about the run (key, value)."},
    {"say", say, METH_O, "Print a line on the first standard error."},
    {"note", note, METH_VARARGS, "Write a line for `peakline run` (what, text), if it listens."},
    {"read_file", read_file, METH_VARARGS, "The first bytes of a file (path, most_bytes)."},
    {"hold", hold, METH_VARARGS, "Search holders of blocks (seconds, blocks, reason, step)."},
    {"await_return", await_frame, METH_O, "Set the frame that is_returning() checks."},
    {"is_returning", is_frame_returning, METH_NOARGS, "Whether it returns just now."},
    {"remember_lines", remember_lines, METH_NOARGS, "Remember bytes by line, for the next search."},
    {"safe_point", safe_point, METH_O, "Read the program's objects now."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "peakline._recorder",
                        "The recorder of this process.",
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__recorder() {
    PyObject* module = PyModule_Create(&g_module);
    if (module == nullptr) {
        return nullptr;
    }
    g_recorder_error =
        PyErr_NewException("peakline._recorder.RecorderError", PyExc_RuntimeError, nullptr);
    Py_XINCREF(g_recorder_error);
    if (g_recorder_error == nullptr ||
        PyModule_AddObject(module, "RecorderError", g_recorder_error) != 0 ||
        !add_constants(module)) {
        Py_DECREF(module);
        return nullptr;
    }
    return module;
}
