// The extension module peakline._report: the report engine for Python. Converts arguments, lets
// go of the GIL while the engine works, converts errors. No logic lives here. Limited API of
// CPython 3.10: one binary serves all later versions.
#include <Python.h>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "report/render/report.h"
#include "report/trace/trace_error.h"

namespace {

using peakline::report::OutputForm;
using peakline::report::Progress;
using peakline::report::ReportOptions;
using peakline::report::TraceError;
using peakline::report::TraceReader;
using MakeReport = std::string (*)(const TraceReader&, const ReportOptions&, const Progress&);

PyObject* g_trace_error = nullptr;  // Written once, when the module is imported.

struct TraceObject {
    PyObject ob_base;
    TraceReader* reader;
    PyObject* bytes;     // keeps the memory of a trace in memory alive
    PyObject* progress;  // callable(fraction), or nullptr
};

// Thrown through the engine when Python code raised; the exception is set.
struct PythonRaised {};

// Holds the GIL released; gives it back at the end, also when the engine throws.
class GilReleased {
public:
    GilReleased() : state_(PyEval_SaveThread()) {}
    ~GilReleased() { PyEval_RestoreThread(state_); }
    GilReleased(const GilReleased&) = delete;
    GilReleased& operator=(const GilReleased&) = delete;

    // Runs `work` with the GIL held.
    template <class Work>
    void with_gil(Work work) {
        PyEval_RestoreThread(state_);
        const bool good = work();
        state_ = PyEval_SaveThread();
        if (!good) {
            throw PythonRaised();
        }
    }

private:
    PyThreadState* state_;
};

TraceObject* as_trace(PyObject* object) {
    return reinterpret_cast<TraceObject*>(object);
}

// Sets the Python exception of the C++ exception being handled.
PyObject* translate_exception() {
    try {
        throw;
    } catch (const PythonRaised&) {
    } catch (const TraceError& error) {
        PyObject* text = PyUnicode_DecodeUTF8(
            error.what(), static_cast<Py_ssize_t>(std::string(error.what()).size()), "replace");
        if (text != nullptr) {
            PyErr_SetObject(g_trace_error, text);
            Py_DECREF(text);
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

bool report_progress(PyObject* callback, double fraction) {
    if (PyErr_CheckSignals() != 0) {
        return false;
    }
    if (callback == nullptr) {
        return true;
    }
    PyObject* result = PyObject_CallFunction(callback, "d", fraction);
    Py_XDECREF(result);
    return result != nullptr;
}

// Also what lets Ctrl-C end the work.
Progress make_progress(TraceObject* self, GilReleased& gil) {
    using Clock = std::chrono::steady_clock;
    static constexpr auto kPause = std::chrono::milliseconds(50);
    return [self, &gil, last = Clock::now()](double fraction) mutable {
        if (Clock::now() - last >= kPause) {
            gil.with_gil([&] { return report_progress(self->progress, fraction); });
            last = Clock::now();
        }
    };
}

// ---- arguments --------------------------------------------------------------------------------

// Empty when `object` is not text that UTF-8 can hold; then an exception is set.
std::optional<std::string> text_of(PyObject* object) {
    PyObject* text = PyObject_Str(object);
    if (text == nullptr) {
        return std::nullopt;
    }
    PyObject* bytes = PyUnicode_EncodeFSDefault(text);
    Py_DECREF(text);
    if (bytes == nullptr) {
        return std::nullopt;
    }
    std::string result(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)));
    Py_DECREF(bytes);
    return result;
}

bool set_text(PyObject* value, std::string* option) {
    if (value == nullptr || value == Py_None) {
        return true;
    }
    const std::optional<std::string> text = text_of(value);
    if (text.has_value()) {
        *option = *text;
    }
    return text.has_value();
}

bool set_texts(PyObject* value, std::vector<std::string>* option) {
    if (value == nullptr || value == Py_None) {
        return true;
    }
    PyObject* items = PySequence_List(value);
    for (Py_ssize_t i = 0; items != nullptr && i < PyList_Size(items); ++i) {
        if (!set_text(PyList_GetItem(items, i), &option->emplace_back())) {
            Py_DECREF(items);
            return false;
        }
    }
    Py_XDECREF(items);
    return items != nullptr;
}

bool parse_options(PyObject* args, PyObject* kwargs, ReportOptions* options) {
    static const char* names[] = {"by",
                                  "frame",
                                  "at",
                                  "device",
                                  "measure",
                                  "top",
                                  "hide",
                                  "full_paths",
                                  "cwd",
                                  "depth",
                                  "fold",
                                  nullptr};
    PyObject* by = nullptr;
    PyObject* frame = nullptr;
    PyObject* at = nullptr;
    PyObject* device = nullptr;
    PyObject* measure = nullptr;
    unsigned long long top = 0;
    PyObject* hide = nullptr;
    int full_paths = 0;
    PyObject* cwd = nullptr;
    unsigned long long depth = 0;
    int fold = 0;
    if (PyArg_ParseTupleAndKeywords(args,
                                    kwargs,
                                    "|$OOOOOKOpOKp",
                                    const_cast<char**>(names),
                                    &by,
                                    &frame,
                                    &at,
                                    &device,
                                    &measure,
                                    &top,
                                    &hide,
                                    &full_paths,
                                    &cwd,
                                    &depth,
                                    &fold) == 0) {
        return false;
    }
    options->top = top;
    options->paths.full_paths = full_paths != 0;
    auto& selection = options->selection;
    selection.depth = depth;
    selection.fold = fold != 0;
    return set_text(by, &selection.by) && set_text(frame, &selection.frame) &&
           set_text(at, &selection.at) && set_text(device, &selection.device) &&
           set_text(measure, &selection.measure) && set_texts(hide, &selection.hide) &&
           set_text(cwd, &options->paths.working_directory);
}

// ---- methods ----------------------------------------------------------------------------------

bool is_open(TraceObject* self) {
    if (self->reader == nullptr) {
        PyErr_SetString(PyExc_ValueError, "this Trace was not initialised");
    }
    return self->reader != nullptr;
}

PyObject* run_report(
    PyObject* object, PyObject* args, PyObject* kwargs, MakeReport make, OutputForm form) {
    TraceObject* self = as_trace(object);
    ReportOptions options;
    options.form = form;
    if (!is_open(self) || !parse_options(args, kwargs, &options)) {
        return nullptr;
    }
    std::string text;
    try {
        GilReleased gil;
        text = make(*self->reader, options, make_progress(self, gil));
    } catch (...) {
        return translate_exception();
    }
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

template <MakeReport kMake, OutputForm kForm>
PyObject* report_method(PyObject* object, PyObject* args, PyObject* kwargs) {
    return run_report(object, args, kwargs, kMake, kForm);
}

// Takes the reference to `text`; nullptr passes through.
PyObject* parse_json(PyObject* text) {
    PyObject* json = text != nullptr ? PyImport_ImportModule("json") : nullptr;
    PyObject* data = json != nullptr ? PyObject_CallMethod(json, "loads", "O", text) : nullptr;
    Py_XDECREF(json);
    Py_XDECREF(text);
    return data;
}

PyObject* trace_info(PyObject* object, PyObject*) {
    TraceObject* self = as_trace(object);
    if (!is_open(self)) {
        return nullptr;
    }
    try {
        return parse_json(PyUnicode_FromString(make_info(*self->reader).c_str()));
    } catch (...) {
        return translate_exception();
    }
}

PyObject* trace_summary_data(PyObject* object, PyObject* args, PyObject* kwargs) {
    return parse_json(
        run_report(object, args, kwargs, peakline::report::make_summary, OutputForm::kJson));
}

// ---- the type ---------------------------------------------------------------------------------

// Text and os.PathLike are paths; everything else is the trace itself.
bool open_reader(TraceObject* self, PyObject* source) {
    const bool is_path =
        PyUnicode_Check(source) != 0 || PyObject_HasAttrString(source, "__fspath__") != 0;
    std::optional<std::string> path;
    if (is_path) {
        path = text_of(source);
        if (!path.has_value()) {
            return false;
        }
    } else {
        self->bytes = PyBytes_FromObject(source);
        if (self->bytes == nullptr) {
            return false;
        }
    }
    try {
        GilReleased gil;
        if (is_path) {
            self->reader = new TraceReader(TraceReader::open_file(*path));
        } else {
            const auto* data =
                reinterpret_cast<const unsigned char*>(PyBytes_AsString(self->bytes));
            const auto size = static_cast<size_t>(PyBytes_Size(self->bytes));
            self->reader =
                new TraceReader(TraceReader::from_memory("trace in memory", {data, size}));
        }
    } catch (...) {
        translate_exception();
        return false;
    }
    return true;
}

int trace_init(PyObject* object, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"source", "progress", nullptr};
    PyObject* source = nullptr;
    PyObject* progress = Py_None;
    if (PyArg_ParseTupleAndKeywords(
            args, kwargs, "O|O:Trace", const_cast<char**>(names), &source, &progress) == 0) {
        return -1;
    }
    TraceObject* self = as_trace(object);
    if (self->reader != nullptr) {
        PyErr_SetString(PyExc_ValueError, "this Trace is open already");
        return -1;
    }
    if (progress != Py_None) {
        Py_INCREF(progress);
        Py_XDECREF(self->progress);
        self->progress = progress;
    }
    return open_reader(self, source) ? 0 : -1;
}

void trace_dealloc(PyObject* object) {
    TraceObject* self = as_trace(object);
    PyTypeObject* type = Py_TYPE(object);
    delete self->reader;
    Py_XDECREF(self->bytes);
    Py_XDECREF(self->progress);
    auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(object);
    Py_DECREF(type);
}

template <class Function>
PyCFunction as_method(Function function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

using peakline::report::make_stats;
using peakline::report::make_summary;
using peakline::report::make_table;

constexpr int kKeywords = METH_VARARGS | METH_KEYWORDS;

PyMethodDef g_trace_methods[] = {
    {"info", trace_info, METH_NOARGS, "What the trace says about itself."},
    {"table",
     as_method(report_method<make_table, OutputForm::kText>),
     kKeywords,
     "The table as text."},
    {"table_json",
     as_method(report_method<make_table, OutputForm::kJson>),
     kKeywords,
     "The table as JSON."},
    {"summary",
     as_method(report_method<make_summary, OutputForm::kText>),
     kKeywords,
     "The summary as text."},
    {"summary_json",
     as_method(report_method<make_summary, OutputForm::kJson>),
     kKeywords,
     "The summary as JSON."},
    {"summary_data",
     as_method(trace_summary_data),
     kKeywords,
     "The summary as a dictionary, as in summary_json."},
    {"stats",
     as_method(report_method<make_stats, OutputForm::kText>),
     kKeywords,
     "Counts over the whole trace as text."},
    {"stats_json",
     as_method(report_method<make_stats, OutputForm::kJson>),
     kKeywords,
     "Counts over the whole trace as JSON."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot g_trace_slots[] = {
    {Py_tp_doc, const_cast<char*>("A trace: Trace(path or bytes, progress=None).")},
    {Py_tp_init, reinterpret_cast<void*>(trace_init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(trace_dealloc)},
    {Py_tp_methods, g_trace_methods},
    {0, nullptr},
};

PyType_Spec g_trace_spec = {
    "peakline._report.Trace",
    static_cast<int>(sizeof(TraceObject)),
    0,
    Py_TPFLAGS_DEFAULT,
    g_trace_slots,
};

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT,
    "_report",
    "Reads traces and makes reports of them.",
    -1,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

PyMODINIT_FUNC PyInit__report() {
    PyObject* module = PyModule_Create(&g_module);
    if (module == nullptr) {
        return nullptr;
    }
    g_trace_error = PyErr_NewException("peakline._report.TraceError", nullptr, nullptr);
    PyObject* type = PyType_FromSpec(&g_trace_spec);
    if (g_trace_error == nullptr || type == nullptr ||
        PyModule_AddObjectRef(module, "TraceError", g_trace_error) != 0 ||
        PyModule_AddObjectRef(module, "Trace", type) != 0) {
        Py_DECREF(module);
        return nullptr;
    }
    Py_DECREF(type);
    return module;
}
