#include "frame_layout.h"

#include "layout_reads.h"
#include "preload/peakline_api.h"

namespace peakline::pyhook {
namespace {

// await_return() sets these, under the GIL.
FrameView g_awaited;
const uint64_t* g_behind_awaited = nullptr;  // end of the frame on the stack of frames

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

// Whether the frame represents C code between functions, from 3.12 on: see kFirstShimOwner in
// frame_reads.h.
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

// Appends a tuple of strings of a code object; `once` skips those already in the list.
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

// In the order of the frame's slots.
std::vector<std::string> names_of_variables(PyObject* code) {
    // An argument that is a cell has one slot, and two where a frame is an object.
    const bool is_shared = layout()->object_frame != 0;
    std::vector<std::string> names;
    add_names(code, "co_varnames", false, &names);
    add_names(code, "co_cellvars", is_shared, &names);
    add_names(code, "co_freevars", is_shared, &names);
    return names;
}

std::vector<FrameView> frames_of(const void* thread) {
    std::vector<FrameView> frames;
    add_frames(thread, &frames);
    return frames;
}

std::string text_attribute(PyObject* code, const char* which) {
    PyObject* const value = PyObject_GetAttrString(code, which);
    std::string text = value == nullptr ? std::string() : text_of(value);
    Py_XDECREF(value);
    PyErr_Clear();
    return text;
}

}  // namespace

FrameView frame_of_object(PyObject* frame) {
    if (layout() == nullptr) {
        return {};
    }
    const uint16_t offset = layout()->object_frame;
    return view_of(offset == 0 ? frame : reinterpret_cast<const void*>(word_of(frame, offset)));
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
    // The generator contains its frame, which refers to the code; the last such word is the
    // frame's.
    const uint64_t count = basic_size_of(generator) / sizeof(uint64_t);
    const bool is_known = code != nullptr && layout() != nullptr && layout()->object_frame != 0;
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

long number_of(PyObject* code, const char* which) {
    PyObject* const value = PyObject_GetAttrString(code, which);
    const long number = value == nullptr ? 0 : PyLong_AsLong(value);
    Py_XDECREF(value);
    PyErr_Clear();
    return number;
}

// Does not read the frame: the layout may not be verified yet.
void await_return(PyObject* frame) {
    if (layout() == nullptr || layout()->object_frame == 0) {
        return;
    }
    PyObject* const code = PyObject_GetAttrString(frame, "f_code");
    g_awaited.code = code;  // the frame keeps it alive
    g_awaited.locals = reinterpret_cast<const uint64_t*>(word_of(frame, layout()->object_frame) +
                                                         layout()->frame_locals);
    g_behind_awaited =
        g_awaited.locals + names_of_variables(code).size() + number_of(code, "co_stacksize");
    Py_DECREF(code);
}

// The returning frame must be the last one on the stack of frames, directly below the finalizer's:
// only then does it certainly still exist.
bool is_returning() {
    if (g_awaited.code == nullptr || !knows_frames()) {
        return false;
    }
    bool is_below_ours = false;
    for (const FrameView& frame : frames_of(PyThreadState_Get())) {
        if (frame.locals == g_awaited.locals) {
            return false;  // it is still running
        }
        const char* const begin =
            reinterpret_cast<const char*>(frame.locals) - layout()->frame_locals;
        is_below_ours = is_below_ours || begin == reinterpret_cast<const char*>(g_behind_awaited);
    }
    const char* const begin =
        reinterpret_cast<const char*>(g_awaited.locals) - layout()->frame_locals;
    return is_below_ours && view_of(begin).code == g_awaited.code;
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
    if (is_returning()) {
        frames.push_back(
            view_of(reinterpret_cast<const char*>(g_awaited.locals) - layout()->frame_locals));
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
    const std::vector<std::string> names = names_of_variables(frame.code);
    for (size_t i = 0; i < names.size(); ++i) {
        const uint64_t value = frame.locals[i] & layout()->code_mask;
        if (value != 0) {
            variables.push_back({names[i], reinterpret_cast<PyObject*>(value)});
        }
    }
    return variables;
}

std::string location_of(const FrameView& frame) {
    using LineOf = int (*)(PyObject* code, int offset);
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
