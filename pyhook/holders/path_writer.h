// Writes a path, link by link from its root; see paths.h.
#pragma once

#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "heap_graph.h"

namespace peakline::pyhook {

class PathWriter {
public:
    // kHeldFirst: "x in the closure of f, kept by a.b"; kHolderFirst: "a.b -> x in the closure of
    // f".
    enum class Order { kHeldFirst, kHolderFirst };

    explicit PathWriter(const Root& root, Order order = Order::kHeldFirst);
    // Adds a link from an object to one that it holds.
    void follow(PyObject* holder, PyObject* held);
    void follow_gradient();
    // Adds the last link, from a tensor to a node of its graph, or the link to the node's object.
    void end_in_node(uint64_t node);
    void leave_node(uint64_t node);
    // Adds the link from a node to the tensor without an object that accumulates its gradient.
    void follow_to_leaf() { restart({"<leaf tensor>", "", " in the graph of "}, kind_); }
    // Ends at the context of a torch.autograd.Function, which saved a tensor.
    void end_in_context();

    uint32_t kind() const { return static_cast<uint32_t>(kind_); }
    // Long texts are cut.
    std::string text() const;
    // For a path back to its root: "a.b -> x in the closure of f -> a".
    std::string circle() const;

private:
    // The relation of the next dictionary or tuple to the object before it.
    enum class Next { kItems, kAttributes, kThreadData, kClosure, kDefaults };

    void add_attribute(const std::string& name, PyObject* held);
    // An object with its own name, where it is, and its relation to the holder.
    struct Location {
        std::string name;
        std::string where;
        std::string link;
    };
    // Starts a new name; the text so far is its holder.
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
    bool has_arrived_ = false;  // the last link led to an object with its own name
    Next next_ = Next::kItems;
    std::string name_;  // name of the root
    std::string head_;  // "train.losses[3]"
    std::string tail_;  // its location: " of main (train.py:30)"
    // The attribute at the end of head_, and how often it repeats.
    std::string repeated_;
    size_t repeats_begin_ = 0;
    size_t repeats_end_ = 0;
    size_t repeat_count_ = 0;
    PyObject* function_ = nullptr;  // its closure or defaults come next; borrowed
    std::string traceback_of_;      // the class of the exception of the current traceback
};

}  // namespace peakline::pyhook
