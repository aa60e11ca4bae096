// A path while it is written, link by link from its root; see paths.h.
#pragma once

#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "heap_graph.h"

namespace peakline::pyhook {

class PathWriter {
public:
    explicit PathWriter(const Root& root);
    // From an object to what it holds.
    void follow(PyObject* holder, PyObject* held);
    void follow_gradient() { add_attribute("grad", nullptr); }
    // From the tensor with a graph to a node of it that is the end, or to the node's object.
    void end_in_node(uint64_t node);
    void leave_node(uint64_t node);
    // At the context of a torch.autograd.Function, which saved something.
    void end_in_context();

    uint32_t kind() const { return static_cast<uint32_t>(kind_); }
    // Cut where it is very long.
    std::string text() const;

private:
    // What the dictionary or tuple that comes next is to the object before it.
    enum class Next { kItems, kAttributes, kThreadData, kClosure, kDefaults };

    void add_attribute(const std::string& name, PyObject* held);
    // What is written so far holds something with a name of its own: `name` `where` it.
    void restart(const std::string& name, const std::string& where, format::HolderKind kind);
    void restart_in(PyObject* code, const std::string& name, format::HolderKind kind);

    void follow_dictionary(Next mode, PyObject* holder, PyObject* held);
    void follow_sequence(Next mode, PyObject* holder, PyObject* held);
    void follow_function(PyObject* function, PyObject* held);
    bool follow_frame(PyObject* holder, PyObject* held);
    void follow_class(PyObject* type, PyObject* held);
    void follow_instance(PyObject* holder, PyObject* held);

    format::HolderKind kind_;
    Next next_ = Next::kItems;
    std::string head_;  // "train.losses[3]"
    std::string tail_;  // where that is: " of main (train.py:30)"
    // The attribute that head_ ends with, and how often it came in a row.
    std::string repeated_;
    size_t repeats_begin_ = 0;
    size_t repeats_end_ = 0;
    size_t repeat_count_ = 0;
    PyObject* function_ = nullptr;  // whose closure or defaults come next; borrowed
    std::string traceback_of_;      // the class of the exception whose traceback is followed
};

}  // namespace peakline::pyhook
