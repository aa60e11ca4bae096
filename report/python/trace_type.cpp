#include "trace_type.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "arguments.h"
#include "engine_call.h"
#include "events_type.h"
#include "page_method.h"
#include "report/reports/report.h"
#include "report/symbols/source_code.h"
#include "report/trace/writer/stored_outline.h"

namespace peakline::report::python {
namespace {

struct TraceObject {
    PyObject ob_base;
    TraceReader* reader;
    SourceCode* code;    // of the reader
    PyObject* bytes;     // keeps the memory of a trace in memory alive
    PyObject* progress;  // callable(fraction), or nullptr
    std::shared_ptr<const void>* libraries;
};

TraceObject* as_trace(PyObject* object) {
    return reinterpret_cast<TraceObject*>(object);
}

// ---- methods ----------------------------------------------------------------------------------

bool is_open(TraceObject* self) {
    if (self->reader == nullptr) {
        PyErr_SetString(PyExc_ValueError, "this Trace was not initialised");
    }
    return self->reader != nullptr;
}

PyObject* run_report(TraceObject* self, const ReportCall& call, MakeReport make = nullptr) {
    std::string text;
    try {
        make = make != nullptr ? make : find_report(call.name);
        GilReleased gil;
        ReportOptions options = call.options;
        options.paths.code = self->code;
        text = make(*self->reader, options, make_progress(self->progress, gil));
    } catch (...) {
        return translate_exception();
    }
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// report(name, *, json=False, **options)
PyObject* trace_report(PyObject* object, PyObject* args, PyObject* kwargs) {
    TraceObject* self = as_trace(object);
    ReportCall call;
    if (!is_open(self) || !parse_call(args, kwargs, &call)) {
        return nullptr;
    }
    return run_report(self, call);
}

// Steals the reference to `text`; passes nullptr through.
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

// Makes the named report in a JSON form, and parses it.
PyObject* parsed_report(TraceObject* self, PyObject* args, PyObject* kwargs, OutputForm form) {
    ReportCall call;
    if (args == nullptr || !is_open(self) || !parse_call(args, kwargs, &call)) {
        return nullptr;
    }
    call.options.form = form;
    return parse_json(run_report(self, call));
}

// summary_data(**options): report("summary", json=True, **options), parsed.
PyObject* trace_summary_data(PyObject* object, PyObject* args, PyObject* kwargs) {
    PyObject* named =
        PyArg_ParseTuple(args, ":summary_data") != 0 ? Py_BuildValue("(s)", "summary") : nullptr;
    PyObject* data = parsed_report(as_trace(object), named, kwargs, OutputForm::kJson);
    Py_XDECREF(named);
    return data;
}

// A report that no command prints.
PyObject* unprinted(
    PyObject* object, PyObject* args, PyObject* kwargs, const char* name, MakeReport* make) {
    TraceObject* self = as_trace(object);
    PyObject* named = PyArg_ParseTuple(args, "") != 0 ? Py_BuildValue("(s)", name) : nullptr;
    ReportCall call;
    const bool parsed = named != nullptr && is_open(self) && parse_call(named, kwargs, &call);
    Py_XDECREF(named);
    return parsed ? run_report(self, call, make) : nullptr;
}

// outline(**options)
PyObject* trace_outline(PyObject* object, PyObject* args, PyObject* kwargs) {
    return unprinted(object, args, kwargs, "outline", make_outline);
}

// step_levels(**options)
PyObject* trace_step_levels(PyObject* object, PyObject* args, PyObject* kwargs) {
    return unprinted(object, args, kwargs, "step_levels", make_step_levels);
}

// stored_outline()
PyObject* trace_stored_outline(PyObject* object, PyObject*) {
    TraceObject* self = as_trace(object);
    if (!is_open(self)) {
        return nullptr;
    }
    try {
        const std::optional<std::string> json = stored_outline(*self->reader);
        if (!json) {
            Py_RETURN_NONE;
        }
        return PyUnicode_DecodeUTF8(json->data(), static_cast<Py_ssize_t>(json->size()), "replace");
    } catch (...) {
        return translate_exception();
    }
}

// document(name, **options): the report for people, see report/render/document/document.h.
PyObject* trace_document(PyObject* object, PyObject* args, PyObject* kwargs) {
    return parsed_report(as_trace(object), args, kwargs, OutputForm::kDocument);
}

PyObject* trace_page(PyObject* object, PyObject* args, PyObject* kwargs) {
    TraceObject* self = as_trace(object);
    return is_open(self) ? page_of(*self->reader, *self->code, self->progress, args, kwargs)
                         : nullptr;
}

// events(**options)
PyObject* trace_events(PyObject* object, PyObject* args, PyObject* kwargs) {
    TraceObject* self = as_trace(object);
    if (!is_open(self) || PyArg_ParseTuple(args, ":events") == 0) {
        return nullptr;
    }
    return events_of(object, *self->reader, self->progress, kwargs);
}

// ---- the type ---------------------------------------------------------------------------------

// Text and os.PathLike are paths; other objects are the bytes of a trace.
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
        if (self->libraries == nullptr) {
            self->libraries = new std::shared_ptr<const void>(keep_libraries());
        }
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
        self->code = new SourceCode(*self->reader);
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
    delete self->code;
    delete self->reader;
    delete self->libraries;
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

constexpr int kKeywords = METH_VARARGS | METH_KEYWORDS;

PyMethodDef g_trace_methods[] = {
    {"info", trace_info, METH_NOARGS, "Facts about the trace itself."},
    {"summary_data",
     as_method(trace_summary_data),
     kKeywords,
     "The JSON of the summary as a dictionary."},
    {"document",
     as_method(trace_document),
     kKeywords,
     "The parts of the table or the summary on a terminal, as a dictionary of texts."},
    {"report", as_method(trace_report), kKeywords, "Any report by its name, as text or as JSON."},
    {"outline", as_method(trace_outline), kKeywords, "The data that compares runs: JSON."},
    {"step_levels",
     as_method(trace_step_levels),
     kKeywords,
     "The levels by step, to lay runs over each other: JSON."},
    {"stored_outline",
     trace_stored_outline,
     METH_NOARGS,
     "The outline that store_outline() put into the trace, or None."},
    {"page", as_method(trace_page), kKeywords, "The data of the HTML page: JSON and columns."},
    {"events", as_method(trace_events), kKeywords, "Every event, as columns, in batches."},
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

}  // namespace

PyObject* make_trace_type() {
    return make_events_type() ? PyType_FromSpec(&g_trace_spec) : nullptr;
}

}  // namespace peakline::report::python
