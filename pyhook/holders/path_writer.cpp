#include "path_writer.h"

#include <cstring>

#include "frame_layout.h"
#include "object_facts.h"
#include "object_layout.h"
#include "roots.h"

namespace peakline::pyhook {
namespace {

using format::HolderKind;

constexpr size_t kLongestPath = 500;
constexpr size_t kLongestCircle = 240;
constexpr size_t kMostRepeats = 3;
constexpr char kArrow[] = " -> ";
constexpr char kInGraph[] = " in the graph of ";

bool is_tensor_dictionary(const std::string& name) {
    return name == "_modules" || name == "_parameters" || name == "_buffers";
}

bool ends_with(const std::string& text, const std::string& end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::string PathWriter::text() const {
    const std::string whole = head_ + tail_;
    return whole.size() <= kLongestPath ? whole : whole.substr(0, kLongestPath) + "...";
}

std::string PathWriter::circle() const {
    const std::string end = kArrow + name_;
    return head_.size() <= kLongestCircle ? head_ + end
                                          : head_.substr(0, kLongestCircle) + "..." + end;
}

void PathWriter::follow_gradient() {
    if (has_arrived_) {
        has_arrived_ = false;
        head_ += std::string(kArrow) + "tensor";
    }
    add_attribute("grad", nullptr);
}

PathWriter::PathWriter(const Root& root, Order order)
    : kind_(static_cast<HolderKind>(root.kind)),
      order_(order),
      name_(root.name),
      head_(root.name),
      tail_(root.detail) {
    if (root.is_namespace) {
        next_ = kind_ == HolderKind::kThreadData ? Next::kThreadData : Next::kAttributes;
    }
}

void PathWriter::add_attribute(const std::string& name, PyObject* held) {
    // Attributes of modules are named as in the program.
    if (held != nullptr && is_tensor_dictionary(name) && PyDict_Check(held) != 0) {
        next_ = Next::kAttributes;
        return;
    }
    const size_t end = head_.size();
    if (end != repeats_end_ || name != repeated_) {
        repeated_ = name;
        repeats_begin_ = end;
        repeat_count_ = 0;
    }
    // Shortens long chains of equal links: "first.next{1000}.data".
    ++repeat_count_;
    head_ += "." + name;
    if (repeat_count_ > kMostRepeats) {
        head_.resize(repeats_begin_);
        head_ += "." + name + "{" + std::to_string(repeat_count_) + "}";
    }
    repeats_end_ = head_.size();
}

void PathWriter::restart(const Location& location, HolderKind kind) {
    if (order_ == Order::kHolderFirst) {
        head_ += kArrow + location.name + location.where;
        has_arrived_ = true;
    } else {
        tail_ = location.where + location.link + head_ + tail_;
        head_ = location.name;
    }
    kind_ = kind;
}

// The last link led to an object with its own name, which is no attribute name.
void PathWriter::arrive_at(PyObject* holder) {
    if (has_arrived_ && !is_type(holder, "PyCell_Type")) {
        has_arrived_ = false;
        head_ += kArrow + class_of(holder);
    }
}

// A variable of a function, held by the object of the text so far.
void PathWriter::restart_in(PyObject* code, const std::string& name, HolderKind kind) {
    const std::string function = function_of(code);
    const char* const word = kind == HolderKind::kClosure   ? " in the closure of "
                             : kind == HolderKind::kDefault ? " by default in "
                                                            : " of ";
    const bool is_named = ends_with(head_, "." + function) || head_ == function;
    if (is_named && order_ == Order::kHeldFirst) {
        restart({name, "", word}, kind);
    } else {
        restart({name, word + function, ", kept by "}, kind);
    }
}

void PathWriter::follow(PyObject* holder, PyObject* held) {
    const Next mode = next_;
    next_ = Next::kItems;
    arrive_at(holder);
    if (PyDict_Check(holder) != 0 && mode != Next::kClosure) {
        follow_dictionary(mode, holder, held);
    } else if (PyList_Check(holder) != 0 || PyTuple_Check(holder) != 0) {
        follow_sequence(mode, holder, held);
    } else if (is_type(holder, "PyCell_Type")) {
        next_ = Next::kItems;  // a variable, already named
    } else if (is_function(holder)) {
        follow_function(holder, held);
    } else if (PyType_Check(holder) != 0) {
        follow_class(holder, held);
    } else if (!follow_frame(holder, held)) {
        follow_instance(holder, held);
    }
}

void PathWriter::follow_dictionary(Next mode, PyObject* holder, PyObject* held) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(holder, &position, &key, &value) != 0) {
        if (value != held) {
            continue;
        }
        const std::string text = PyUnicode_Check(key) != 0 ? text_of(key) : std::string();
        if (mode == Next::kThreadData) {  // from threads to their attributes
            kind_ = HolderKind::kThreadData;
            next_ = Next::kAttributes;
        } else if (mode == Next::kAttributes && !text.empty()) {
            add_attribute(text, held);
        } else if (mode == Next::kDefaults) {
            restart_in(code_of(function_), text, HolderKind::kDefault);
        } else {
            head_ += "[" + key_text(key) + "]";
        }
        return;
    }
    restart({"a key", "", " of "}, kind_);
}

void PathWriter::follow_sequence(Next mode, PyObject* holder, PyObject* held) {
    const Py_ssize_t index = index_of(holder, held);
    if (mode == Next::kClosure) {
        PyObject* const code = code_of(function_);
        return restart_in(code, name_at(code, "co_freevars", index), HolderKind::kClosure);
    }
    if (mode == Next::kDefaults) {
        PyObject* const code = code_of(function_);
        const long first = number_of(code, "co_argcount") - PyTuple_Size(holder);
        return restart_in(code, name_at(code, "co_varnames", first + index), HolderKind::kDefault);
    }
    head_ += index >= 0 ? "[" + std::to_string(index) + "]" : "[?]";
}

void PathWriter::follow_function(PyObject* function, PyObject* held) {
    function_ = function;
    if (held == attribute_address(function, "__closure__")) {
        next_ = Next::kClosure;
    } else if (held == attribute_address(function, "__defaults__") ||
               held == attribute_address(function, "__kwdefaults__")) {
        next_ = Next::kDefaults;
    } else if (PyDict_Check(held) != 0) {
        next_ = Next::kAttributes;
    } else {
        head_ += ".<" + class_of(held) + ">";
    }
}

// Variables of functions that are not running: generators, and frames kept by a traceback or the
// program.
bool PathWriter::follow_frame(PyObject* holder, PyObject* held) {
    const bool suspended = is_generator(holder);
    if (is_type(holder, "PyTraceBack_Type")) {
        return true;
    }
    if (!suspended && !is_type(holder, "PyFrame_Type")) {
        return false;
    }
    if (is_type(held, "PyFrame_Type")) {
        return true;  // its caller
    }
    const FrameView frame = suspended ? frame_of_generator(holder) : frame_of_object(holder);
    std::string name = "a value";
    for (const Variable& variable : variables_of(frame)) {
        if (variable.value == held) {
            name = variable.name;
            break;
        }
    }
    if (frame.code == nullptr) {
        return false;
    }
    const std::string function = " of " + function_of(frame.code) + " (" + location_of(frame) + ")";
    if (suspended) {
        restart({name, function, ", suspended in "}, HolderKind::kSuspended);
    } else if (!traceback_of_.empty()) {
        restart({name, function + ", in the traceback of " + traceback_of_, " kept by "},
                HolderKind::kException);
        traceback_of_.clear();
    } else {
        restart({name, function, ", a frame kept by "}, HolderKind::kOther);
    }
    return true;
}

void PathWriter::follow_class(PyObject* type, PyObject* held) {
    if (PyDict_Check(held) == 0) {
        return;  // a base class, which has its own name
    }
    const std::string whole =
        *reinterpret_cast<const char* const*>(reinterpret_cast<const char*>(type) + 24);
    const std::string name = whole.substr(whole.rfind('.') + 1);
    if (!ends_with(head_, "." + name)) {
        const std::string module = shown_module(text_of(PyDict_GetItemString(held, "__module__")));
        head_ = (module.empty() ? "" : module + ".") + name;
        tail_.clear();
    }
    kind_ = HolderKind::kClass;
    next_ = Next::kAttributes;
}

void PathWriter::follow_instance(PyObject* holder, PyObject* held) {
    if (PyExceptionInstance_Check(holder) != 0 && is_type(held, "PyTraceBack_Type")) {
        traceback_of_ = class_of(holder);
        return;
    }
    if (is_derived_from(held, "torch._C", "_FunctionBase")) {
        return restart({class_of(held), "", kInGraph}, HolderKind::kGraph);
    }
    if (is_derived_from(holder, "_thread", "_local") && PyDict_Check(held) != 0) {
        next_ = Next::kThreadData;
        return;
    }
    const std::string name = attribute_name(holder, held);
    if (!name.empty()) {
        add_attribute(name, held);
    } else if (PyDict_CheckExact(held) != 0) {
        next_ = Next::kAttributes;  // its __dict__
    } else if (strcmp(class_of(holder).c_str(), "deque") == 0 &&
               Py_TYPE(holder) ==
                   reinterpret_cast<PyTypeObject*>(imported("collections", "deque"))) {
        head_ += "[" + std::to_string(index_in_deque(holder, held)) + "]";
    } else if (is_type(holder, "PySet_Type") || is_type(holder, "PyFrozenSet_Type")) {
        restart({"an element", "", " of "}, kind_);
    } else if (PyDict_Check(held) != 0) {
        add_attribute("_backward_hooks", nullptr);
    } else if (PyType_Check(held) == 0) {
        head_ += ".<" + class_of(held) + ">";
    }
}

void PathWriter::end_in_node(uint64_t node) {
    restart({"saved by " + name_of_node(node), "", kInGraph}, HolderKind::kGraph);
}

void PathWriter::end_in_context() {
    head_ = "saved by " + head_;
    kind_ = HolderKind::kGraph;
}

void PathWriter::leave_node(uint64_t node) {
    restart({name_of_node(node), "", kInGraph}, HolderKind::kGraph);
}

}  // namespace peakline::pyhook
