// A path while it is written, link by link from its root; see paths.h.
#pragma once

#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "heap_graph.h"

namespace peakline::pyhook {

class PathWriter {
public:
    // "x in the closure of f, kept by a.b", or "a.b -> x in the closure of f".
    enum class Order { kHeldFirst, kHolderFirst };

    explicit PathWriter(const Root& root, Order order = Order::kHeldFirst);
    // From an object to what it holds.
    void follow(PyObject* holder, PyObject* held);
    void follow_gradient();
    // From the tensor with a graph to a node of it that is the end, or to the node's object.
    void end_in_node(uint64_t node);
    void leave_node(uint64_t node);
    // To the tensor without an object for which a node accumulates gradients.
    void follow_to_leaf() { restart({"<leaf tensor>", "", " in the graph of "}, kind_); }
    // At the context of a torch.autograd.Function, which saved something.
    void end_in_context();

    uint32_t kind() const { return static_cast<uint32_t>(kind_); }
    // Cut where it is very long.
    std::string text() const;
    // Of a path that has come back to its root: "a.b -> x in the closure of f -> a".
    std::string circle() const;

private:
    // What the dictionary or tuple that comes next is to the object before it.
    enum class Next { kItems, kAttributes, kThreadData, kClosure, kDefaults };

    void add_attribute(const std::string& name, PyObject* held);
    // Something with a name of its own, where that is, and how it follows from its holder.
    struct Location {
        std::string name;
        std::string where;
        std::string link;
    };
    // What is written so far holds it.
    void restart(const Location& location, format::HolderKind kind);
    void arrive_at(PyObject* holder);
    void restart_in(PyObject* code, const std::string& name, format::HolderKind kind);

    void follow_dictionary(Next mode, PyObject* holder, PyObject* held);
    void follow_sequence(Next mode, PyObject* holder, PyObject* held);
    void follow_function(PyObject* function, PyObject* held);
    bool follow_frame(PyObject* holder, PyObject* held);
    void follow_class(PyObject* type, PyObject* held);
    void follow_instance(PyObject* holder, PyObject* held);

    format::HolderKind kind_;
    Order order_;
    bool has_arrived_ = false;  // the last link led to something with a name of its own
    Next next_ = Next::kItems;
    std::string name_;  // of the root
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
