#include "events_type.h"

#include <memory>
#include <utility>

#include "arguments.h"
#include "engine_call.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/render/events/event_names.h"
#include "report/render/table/run_facts.h"
#include "report/views/events/events.h"
#include "report/views/selection/refusals.h"

namespace peakline::report::python {
namespace {

// The state of an iterator; every member refers to those above it.
struct Session {
    Session(const TraceReader& reader, ReportOptions given, const Progress& progress)
        : options(std::move(given)),
          selection(parse_selection(options.selection)),
          stacks(reader.definitions(), selection.frames),
          names(reader, options.paths),
          list(reader, selection, stacks, progress) {}

    ReportOptions options;
    Selection selection;
    StackLookup stacks;
    EventNames names;
    EventList list;
};

struct EventsObject {
    PyObject ob_base;
    PyObject* trace;  // keeps the reader alive
    Session* session;
};

EventsObject* as_events(PyObject* object) {
    return reinterpret_cast<EventsObject*>(object);
}

// Returns false with an exception set on errors.
template <class Value>
bool set_column(PyObject* columns, const char* name, const std::vector<Value>& values) {
    const auto size = static_cast<Py_ssize_t>(values.size() * sizeof(Value));
    PyObject* bytes = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(values.data()), size);
    const bool is_set = bytes != nullptr && PyDict_SetItemString(columns, name, bytes) == 0;
    Py_XDECREF(bytes);
    return is_set;
}

// Returns nullptr with an exception set on errors.
PyObject* dictionary_of(const EventColumns& from) {
    PyObject* columns = PyDict_New();
    const bool is_good =
        columns != nullptr && set_column(columns, "event", from.event) &&
        set_column(columns, "seconds", from.seconds) && set_column(columns, "kind", from.kind) &&
        set_column(columns, "block", from.block) && set_column(columns, "bytes", from.bytes) &&
        set_column(columns, "requested_bytes", from.requested_bytes) &&
        set_column(columns, "address", from.address) &&
        set_column(columns, "device", from.device) && set_column(columns, "stream", from.stream) &&
        set_column(columns, "allocated_bytes", from.allocated_bytes) &&
        set_column(columns, "reserved_bytes", from.reserved_bytes) &&
        set_column(columns, "context", from.context) &&
        set_column(columns, "free_node", from.free_node) &&
        set_column(columns, "phase", from.phase) && set_column(columns, "step", from.step) &&
        set_column(columns, "thread", from.thread) && set_column(columns, "text", from.text) &&
        set_column(columns, "tensor_type", from.tensor_type);
    if (!is_good) {
        Py_XDECREF(columns);
        return nullptr;
    }
    return columns;
}

PyObject* events_next(PyObject* object) {
    Session& session = *as_events(object)->session;
    const EventColumns* batch = nullptr;
    std::string names;
    try {
        GilReleased gil;
        batch = &session.list.next();
        names = session.names.take_new(session.list.names(), *batch);
    } catch (...) {
        return translate_exception();
    }
    if (batch->size() == 0) {
        return nullptr;  // the end
    }
    PyObject* columns = dictionary_of(*batch);
    if (columns == nullptr) {
        return nullptr;
    }
    return Py_BuildValue(
        "(NN)",
        columns,
        PyUnicode_DecodeUTF8(names.data(), static_cast<Py_ssize_t>(names.size()), "replace"));
}

void events_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete as_events(object)->session;
    Py_XDECREF(as_events(object)->trace);
    auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(object);
    Py_DECREF(type);
}

PyType_Slot g_events_slots[] = {
    {Py_tp_doc, const_cast<char*>("Batches of events; made by Trace.events().")},
    {Py_tp_dealloc, reinterpret_cast<void*>(events_dealloc)},
    {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
    {Py_tp_iternext, reinterpret_cast<void*>(events_next)},
    {0, nullptr},
};

PyType_Spec g_events_spec = {
    "peakline._report.Events",
    static_cast<int>(sizeof(EventsObject)),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    g_events_slots,
};

PyObject* g_type = nullptr;

}  // namespace

bool make_events_type() {
    g_type = PyType_FromSpec(&g_events_spec);
    return g_type != nullptr;
}

PyObject* events_of(PyObject* trace,
                    const TraceReader& reader,
                    PyObject* progress,
                    PyObject* kwargs) {
    ReportCall call;
    PyObject* named = Py_BuildValue("(s)", "events");
    const bool parsed = named != nullptr && parse_call(named, kwargs, &call);
    Py_XDECREF(named);
    if (!parsed) {
        return nullptr;
    }
    std::unique_ptr<Session> session;
    try {
        refuse_where(parse_selection(call.options.selection), "events");
        need_events(reader, "events");
        GilReleased gil;
        session = std::make_unique<Session>(reader, call.options, make_progress(progress, gil));
    } catch (...) {
        return translate_exception();
    }
    auto* const type = reinterpret_cast<PyTypeObject*>(g_type);
    auto alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    PyObject* events = alloc(type, 0);
    if (events != nullptr) {
        Py_INCREF(trace);
        as_events(events)->trace = trace;
        as_events(events)->session = session.release();
    }
    return events;
}

}  // namespace peakline::report::python
