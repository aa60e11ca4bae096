// Objects that no variable, module or thread leads to: those that C or C++ holds, and reference
// cycles, also those that close in a graph of autograd. With the GIL, while the collector is off;
// the objects are borrowed from a list that must outlive this.
#pragma once

#include <Python.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "heap_graph.h"

namespace peakline::pyhook {

class Cycles {
public:
    // Objects that `reached` has not reached.
    Cycles(const HeapGraph& reached, std::vector<PyObject*> objects);

    // Looks at them all. False: time is up, and nothing is known of them.
    bool find();
    // The ones that something outside of all these refers to.
    std::vector<Root> outside_roots() const;
    // One object of each cycle that `graph` does not reach yet; of tensors, which have no names,
    // each that has a gradient.
    std::vector<Root> cycle_roots(const HeapGraph& graph) const;
    // What is left.
    std::vector<Root> other_roots(const HeapGraph& graph) const;

    // " in a reference cycle (a -> b -> a): only the garbage collector frees it": of the object of
    // a root of cycle_roots().
    std::string detail_of(const Root& root) const;

private:
    void count_references();
    void find_groups();
    std::vector<Vertex> shortest_circle(uint32_t from) const;

    std::vector<PyObject*> objects_;
    HeapGraph graph_;
    std::vector<uint32_t> targets_;       // of edges, those of a vertex together
    std::vector<uint32_t> begins_;        // by vertex, in targets_; one more
    std::vector<Py_ssize_t> references_;  // by vertex: from others of them
    std::vector<uint32_t> groups_;        // by vertex: that reach each other
    std::vector<bool> is_cycle_;          // by group
    std::unordered_map<PyObject*, uint32_t> vertices_;
};

}  // namespace peakline::pyhook
