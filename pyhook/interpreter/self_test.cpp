#include "self_test.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace peakline::pyhook {
namespace {

// One chain with every kind of frame: module, function, generator, lambda, call of a class.
// Repeated until the interpreter has specialised its instructions, which changes how calls push
// frames. ASCII only: for other identifiers the parser imports a module.
constexpr const char kSource[] =
    "class Holder:\n"
    "    def __init__(self):\n"
    "        check()\n"
    "def generate():\n"
    "    yield (lambda:\n"
    "           Holder())()\n"
    "def function():\n"
    "    for _ in generate():\n"
    "        pass\n"
    "for _ in range(12):\n"
    "    function()\n"
    "check()\n";
// Stored with 1 byte per character as ASCII, then 1, 2 and 4.
constexpr const char* kTexts[] = {"plain", "gr\u00f6\u00dfe", "\u6df1\u3055", "\U00010437 x"};
constexpr const char kFile[] = "<peakline self-test>";
constexpr unsigned kExpectedCalls = 13;
constexpr size_t kMaxComparedFrames = 32;
constexpr size_t kMaxText = 512;

template <class... Values>
void say(Reason* reason, const char* format, Values... values) {
    if constexpr (sizeof...(values) == 0) {
        snprintf(reason->text, sizeof reason->text, "%s", format);
    } else {
        snprintf(reason->text, sizeof reason->text, format, values...);
    }
}

// One run of the chain. The Python callback takes no argument of ours, so it finds the run here;
// set and used under the GIL only.
struct Run {
    const PythonApi* api;
    const CodeReader* reader;
    Reason* reason;
    unsigned call_count;
    bool differs;
};
Run* g_run = nullptr;

// Owns one reference.
class Reference {
public:
    Reference(const PythonApi& api, Object* object) : api_(api), object_(object) {}
    ~Reference() { reset(nullptr); }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

    void reset(Object* object) {
        if (object_ != nullptr) {
            api_.Py_DecRef(object_);
        }
        object_ = object;
    }
    Object* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

private:
    const PythonApi& api_;
    Object* object_;
};

bool long_attribute_is(const PythonApi& api, Object* object, const char* name, int64_t expected) {
    const Reference attribute(api, api.PyObject_GetAttrString(object, name));
    const bool is_same = attribute && api.PyLong_AsLong(attribute.get()) == expected;
    api.PyErr_Clear();
    return is_same;
}

bool text_attribute_is(const PythonApi& api,
                       Object* object,
                       const char* name,
                       const char* expected,
                       size_t expected_length) {
    const Reference attribute(api, api.PyObject_GetAttrString(object, name));
    const Reference bytes(api, attribute ? api.PyUnicode_AsUTF8String(attribute.get()) : nullptr);
    char* text = nullptr;
    ptrdiff_t length = 0;
    if (!bytes || api.PyBytes_AsStringAndSize(bytes.get(), &text, &length) != 0) {
        api.PyErr_Clear();  // a lone surrogate in a name of the program: skipped
        return true;
    }
    // Our text may be cut at the end of its buffer.
    const auto full_length = static_cast<size_t>(length);
    const bool is_cut = full_length > kMaxText && expected_length > kMaxText - 4;
    return (full_length == expected_length || is_cut) &&
           memcmp(text, expected, expected_length) == 0;
}

bool same_names(const Run& run, const RawFrame& ours, Object* code) {
    const PythonApi& api = *run.api;
    char text[kMaxText];
    size_t length = run.reader->copy_file(ours, text, sizeof text);
    if (!text_attribute_is(api, code, "co_filename", text, length)) {
        say(run.reason,
            "the file name of a frame reads as \"%.*s\"",
            static_cast<int>(length),
            text);
        return false;
    }
    length = run.reader->copy_name(ours, text, sizeof text);
    if (!text_attribute_is(api, code, "co_name", text, length)) {
        say(run.reason, "the name of a frame reads as \"%.*s\"", static_cast<int>(length), text);
        return false;
    }
    const PythonLayout& layout = *run.reader->layout;
    length = run.reader->copy_qualified_name(ours, text, sizeof text);
    if (layout.code_qualified_name != layout.code_name &&
        !text_attribute_is(api, code, "co_qualname", text, length)) {
        say(run.reason, "a qualified name reads as \"%.*s\"", static_cast<int>(length), text);
        return false;
    }
    return true;
}

bool same_frame(const Run& run, const RawFrame& ours, Object* theirs, size_t depth) {
    const PythonApi& api = *run.api;
    const Reference code(api, api.PyFrame_GetCode(theirs));
    if (reinterpret_cast<uint64_t>(code.get()) != ours.code) {
        say(run.reason, "frame %zu runs another code object", depth);
        return false;
    }
    const int64_t offset = run.reader->byte_offset(ours);
    if (!long_attribute_is(api, theirs, "f_lasti", offset)) {
        say(run.reason, "frame %zu is not at offset %lld", depth, static_cast<long long>(offset));
        return false;
    }
    const int line = api.PyFrame_GetLineNumber(theirs);
    // Not positive: this instruction has no line; ours is then the function's first line.
    if (line > 0 && run.reader->line(ours) != static_cast<uint32_t>(line)) {
        say(run.reason, "frame %zu is at line %d, not %u", depth, line, run.reader->line(ours));
        return false;
    }
    return same_names(run, ours, code.get());
}

bool same_stack(const Run& run) {
    const PythonApi& api = *run.api;
    RawFrame ours[kEntriesPerFrame * kMaxComparedFrames];
    bool truncated = false;
    const size_t count =
        walkers_for(*run.reader->layout)
            .frames(api.PyGILState_GetThisThreadState(), ours, kMaxComparedFrames, &truncated);
    Reference theirs(api, api.PyThreadState_GetFrame(api.PyThreadState_Get()));
    size_t depth = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!run.reader->is_visible(ours[i])) {
            continue;
        }
        if (!theirs) {
            say(run.reason, "we see more than Python's %zu frames", depth);
            return false;
        }
        if (!same_frame(run, ours[i], theirs.get(), depth)) {
            return false;
        }
        theirs.reset(api.PyFrame_GetBack(theirs.get()));
        ++depth;
    }
    if (theirs && !truncated) {
        say(run.reason, "we see %zu frames, Python has more", depth);
        return false;
    }
    return true;
}

bool reads_texts(const PythonApi& api, const CodeReader& reader, Reason* reason) {
    for (const char* const expected : kTexts) {
        const Reference string(api, api.PyUnicode_FromString(expected));
        char text[kMaxText];
        const size_t length = string ? reader.copy_text(string.get(), text, sizeof text) : 0;
        if (length != strlen(expected) || memcmp(text, expected, length) != 0) {
            say(reason,
                "the text \"%s\" reads as \"%.*s\"",
                expected,
                static_cast<int>(length),
                text);
            return false;
        }
    }
    return true;
}

Object* check(Object*, Object*) {
    Run& run = *g_run;
    ++run.call_count;
    run.differs = run.differs || !same_stack(run);
    return run.api->PyLong_FromLong(0);
}

MethodDef g_check_method = {"check", check, kMethodWithoutArguments, nullptr};

bool fill_globals(const PythonApi& api, Object* globals) {
    const Reference function(api, api.PyCFunction_NewEx(&g_check_method, nullptr, nullptr));
    const Reference name(api, api.PyUnicode_FromString("peakline"));
    return function && name && api.PyDict_SetItemString(globals, "check", function.get()) == 0 &&
           api.PyDict_SetItemString(globals, "__name__", name.get()) == 0 &&
           api.PyDict_SetItemString(globals, "__builtins__", api.PyEval_GetBuiltins()) == 0;
}

// Returns true if the chain ran to its end.
bool run_chain(const PythonApi& api) {
    const Reference code(api, api.Py_CompileString(kSource, kFile, kCompileFile));
    // Never released: a class is a reference cycle, and the program could count it as garbage.
    Object* const globals = code ? api.PyDict_New() : nullptr;
    if (globals == nullptr || !fill_globals(api, globals)) {
        return false;
    }
    const Reference result(api, api.PyEval_EvalCode(code.get(), globals, globals));
    if (!result && api.PyErr_ExceptionMatches(*api.PyExc_KeyboardInterrupt) != 0) {
        api.PyErr_SetInterrupt();  // it was meant for the program: deliver it again
    }
    api.PyErr_Clear();
    return static_cast<bool>(result);
}

bool run_chain_untraced(const PythonApi& api) {
    Object* const thread = api.PyThreadState_Get();
    const bool can_hide =
        api.PyThreadState_EnterTracing != nullptr && api.PyThreadState_LeaveTracing != nullptr;
    if (can_hide) {
        api.PyThreadState_EnterTracing(thread);
    }
    const bool finished = run_chain(api);
    if (can_hide) {
        api.PyThreadState_LeaveTracing(thread);
    }
    return finished;
}

// The same in every version that publishes offsets.
constexpr unsigned kVersionWord = 1;
constexpr unsigned kFreeThreadedWord = 2;

}  // namespace

bool self_test(const PythonApi& api, const CodeReader& reader, Reason* reason) {
    if (!reads_texts(api, reader, reason)) {
        return false;
    }
    Run run = {&api, &reader, reason, 0, false};
    g_run = &run;
    bool finished = run_chain_untraced(api);
    if (!finished && !run.differs) {
        run.call_count = 0;
        finished = run_chain_untraced(api);  // a signal of the program may have ended the first run
    }
    g_run = nullptr;
    if (run.differs) {
        return false;
    }
    if (!finished || run.call_count != kExpectedCalls) {
        say(reason, "the self-test could not run (%u calls)", run.call_count);
        return false;
    }
    return true;
}

bool agrees_with_debug_offsets(const PythonApi& api, const PythonLayout& layout, Reason* reason) {
    const DebugOffsetWords& at = layout.published;
    if (at.thread_frame == 0) {
        return true;
    }
    if (api._PyRuntime == nullptr || memcmp(api._PyRuntime, "xdebugpy", 8) != 0) {
        say(reason, "it does not publish its debug offsets");
        return false;
    }
    const auto word = [&api](unsigned index) {
        return read_at<uint64_t>(api._PyRuntime, static_cast<uint16_t>(index * sizeof(uint64_t)));
    };
    if (word(kVersionWord) >> 16 != (3U << 8 | layout.minor) || word(kFreeThreadedWord) != 0) {
        say(reason, "its debug offsets are of another build");
        return false;
    }
    const bool is_same = word(at.thread_frame) == layout.thread_frame &&
                         word(at.frame_previous) == layout.frame_previous &&
                         word(at.frame_code) == layout.frame_code &&
                         word(at.frame_position) == layout.frame_position &&
                         word(at.frame_owner) == layout.frame_owner &&
                         word(at.code_file) == layout.code_file &&
                         word(at.code_file + 1) == layout.code_name &&
                         word(at.code_file + 2) == layout.code_qualified_name &&
                         word(at.code_file + 3) == layout.code_line_table &&
                         word(at.code_first_line) == layout.code_first_line &&
                         word(at.code_bytecode) == layout.code_bytecode;
    if (!is_same) {
        say(reason, "its published offsets differ from ours");
    }
    return is_same;
}

}  // namespace peakline::pyhook
