#include "writer_type.h"

#include <string>

#include "engine_call.h"
#include "report/trace/file/trace_error.h"
#include "report/trace/writer/trace_writer.h"

namespace peakline::report::python {
namespace {

struct WriterObject {
    PyObject ob_base;
    TraceWriter* writer;  // nullptr: finished
};

// Returns nullptr with an exception set when it was finished.
TraceWriter* writer_of(PyObject* object) {
    TraceWriter* writer = reinterpret_cast<WriterObject*>(object)->writer;
    if (writer == nullptr) {
        PyErr_SetString(PyExc_ValueError, "this trace was finished");
    }
    return writer;
}

// Calls `work` with the writer; turns a C++ exception into a Python one.
template <class Work>
PyObject* with_writer(PyObject* object, Work work) {
    TraceWriter* writer = writer_of(object);
    if (writer == nullptr) {
        return nullptr;
    }
    try {
        return work(*writer);
    } catch (...) {
        return translate_exception();
    }
}

PyObject* number(uint64_t value) {
    return PyLong_FromUnsignedLongLong(value);
}

PyObject* none() {
    Py_INCREF(Py_None);
    return Py_None;
}

// string(text) -> id
PyObject* writer_string(PyObject* object, PyObject* args) {
    const char* text = nullptr;
    if (PyArg_ParseTuple(args, "s:string", &text) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) { return number(writer.string(text)); });
}

// node(parent, file, line, name) -> id of the stack
PyObject* writer_node(PyObject* object, PyObject* args) {
    unsigned parent = 0;
    unsigned line = 0;
    const char* file = nullptr;
    const char* name = nullptr;
    if (PyArg_ParseTuple(args, "IsIs:node", &parent, &file, &line, &name) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        return number(writer.python_node(parent, writer.python_frame(file, line, name)));
    });
}

// context(node, flags, tag=0) -> id
PyObject* writer_context(PyObject* object, PyObject* args) {
    unsigned node = 0;
    unsigned flags = 0;
    unsigned tag = 0;
    if (PyArg_ParseTuple(args, "II|I:context", &node, &flags, &tag) == 0) {
        return nullptr;
    }
    return with_writer(
        object, [&](TraceWriter& writer) { return number(writer.context(node, flags, tag)); });
}

// stream(handle) -> id
PyObject* writer_stream(PyObject* object, PyObject* args) {
    unsigned long long handle = 0;
    if (PyArg_ParseTuple(args, "K:stream", &handle) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) { return number(writer.stream(handle)); });
}

// meta(key, value)
PyObject* writer_meta(PyObject* object, PyObject* args) {
    const char* key = nullptr;
    const char* value = nullptr;
    if (PyArg_ParseTuple(args, "ss:meta", &key, &value) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.meta(key, value);
        return none();
    });
}

// alloc(tick, context, device, stream, requested_bytes, block_bytes, address) -> ordinal
PyObject* writer_alloc(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long requested = 0;
    unsigned long long bytes = 0;
    unsigned long long address = 0;
    WrittenAlloc block;
    if (PyArg_ParseTuple(args,
                         "KIIIKKK:alloc",
                         &tick,
                         &block.context,
                         &block.device,
                         &block.stream,
                         &requested,
                         &bytes,
                         &address) == 0) {
        return nullptr;
    }
    block.requested_bytes = requested;
    block.block_bytes = bytes;
    block.address = address;
    return with_writer(object,
                       [&](TraceWriter& writer) { return number(writer.alloc(tick, block)); });
}

// free(tick, ordinal, block_bytes, kind, context); kind: 0 plain, 1 requested, 2 completed
PyObject* writer_free(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long ordinal = 0;
    unsigned long long bytes = 0;
    unsigned kind = 0;
    unsigned context = 0;
    if (PyArg_ParseTuple(args, "KKKII:free", &tick, &ordinal, &bytes, &kind, &context) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.free(tick, ordinal, bytes, static_cast<FreeKind>(kind % 3), context);
        return none();
    });
}

// segment(tick, action, device, stream, address, bytes); action as in format::SegmentAction
PyObject* writer_segment(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long fields[5] = {};
    if (PyArg_ParseTuple(args,
                         "KKKKKK:segment",
                         &tick,
                         &fields[0],
                         &fields[1],
                         &fields[2],
                         &fields[3],
                         &fields[4]) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.put(tick,
                   format::Segment{static_cast<format::SegmentAction>(fields[0]),
                                   fields[1],
                                   fields[2],
                                   fields[3],
                                   fields[4]});
        return none();
    });
}

// in_pool(tick, pool): the previous segment belongs to this private pool, see format::pool_number
PyObject* writer_in_pool(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long pool = 0;
    if (PyArg_ParseTuple(args, "KK:in_pool", &tick, &pool) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.put(tick, format::InPool{pool});
        return none();
    });
}

// oom(tick, context, device, requested_bytes, free_bytes)
PyObject* writer_oom(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long fields[4] = {};
    if (PyArg_ParseTuple(
            args, "KKKKK:oom", &tick, &fields[0], &fields[1], &fields[2], &fields[3]) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.put(tick, format::OutOfMemory{fields[0], fields[1], fields[2], fields[3]});
        return none();
    });
}

// mark(tick, kind, string); kind as in format::MarkKind
PyObject* writer_mark(PyObject* object, PyObject* args) {
    unsigned long long tick = 0;
    unsigned long long kind = 0;
    unsigned long long text = 0;
    if (PyArg_ParseTuple(args, "KKK:mark", &tick, &kind, &text) == 0) {
        return nullptr;
    }
    return with_writer(object, [&](TraceWriter& writer) {
        writer.put(tick, format::Mark{static_cast<format::MarkKind>(kind), 0, text});
        return none();
    });
}

// finish()
PyObject* writer_finish(PyObject* object, PyObject*) {
    PyObject* result = with_writer(object, [&](TraceWriter& writer) {
        writer.finish();
        return none();
    });
    auto* self = reinterpret_cast<WriterObject*>(object);
    delete self->writer;
    self->writer = nullptr;
    return result;
}

int writer_init(PyObject* object, PyObject* args, PyObject*) {
    const char* path = nullptr;
    unsigned long long start_realtime_ns = 0;
    auto* self = reinterpret_cast<WriterObject*>(object);
    if (PyArg_ParseTuple(args, "sK:TraceWriter", &path, &start_realtime_ns) == 0) {
        return -1;
    }
    if (self->writer != nullptr) {
        PyErr_SetString(PyExc_ValueError, "this trace is being written already");
        return -1;
    }
    try {
        self->writer = new TraceWriter(path, start_realtime_ns);
    } catch (...) {
        translate_exception();
        return -1;
    }
    return 0;
}

void writer_dealloc(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete reinterpret_cast<WriterObject*>(object)->writer;
    auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(object);
    Py_DECREF(type);
}

PyMethodDef g_methods[] = {
    {"string", writer_string, METH_VARARGS, "The id of a text."},
    {"node", writer_node, METH_VARARGS, "The id of a stack: its caller's, and a frame."},
    {"context",
     writer_context,
     METH_VARARGS,
     "The id of a context: the facts that allocations share."},
    {"stream", writer_stream, METH_VARARGS, "The id of a CUDA stream."},
    {"meta", writer_meta, METH_VARARGS, "A fact about the run."},
    {"alloc", writer_alloc, METH_VARARGS, "An allocation; returns its number."},
    {"free", writer_free, METH_VARARGS, "A free."},
    {"segment", writer_segment, METH_VARARGS, "A segment of torch's allocator."},
    {"in_pool", writer_in_pool, METH_VARARGS, "The private pool of the segment before."},
    {"oom", writer_oom, METH_VARARGS, "A request that was refused."},
    {"mark", writer_mark, METH_VARARGS, "A mark: a phase, a step, a note."},
    {"finish", writer_finish, METH_NOARGS, "Complete the file."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot g_slots[] = {
    {Py_tp_doc, const_cast<char*>("Writes a trace: TraceWriter(path, start_realtime_ns).")},
    {Py_tp_init, reinterpret_cast<void*>(writer_init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(writer_dealloc)},
    {Py_tp_methods, g_methods},
    {0, nullptr},
};

PyType_Spec g_spec = {"peakline._report.TraceWriter",
                      static_cast<int>(sizeof(WriterObject)),
                      0,
                      Py_TPFLAGS_DEFAULT,
                      g_slots};

}  // namespace

PyObject* make_writer_type() {
    return PyType_FromSpec(&g_spec);
}

}  // namespace peakline::report::python
