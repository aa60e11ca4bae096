// Objects that no variable, module or thread reaches: objects held by C or C++, and reference
// cycles, also those through an autograd graph. Needs the GIL, with the collector off. The objects
// are borrowed from a list that must outlive this.
#pragma once

#include <Python.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "heap_graph.h"

namespace peakline::pyhook {

class Cycles {
public:
    // `objects`: those that `reached` has not reached.
    Cycles(const HeapGraph& reached, std::vector<PyObject*> objects);

    // Scans all of them. Returns false if time is up; the result is then unusable.
    bool find();
    // The objects with references from outside this set.
    std::vector<Root> outside_roots() const;
    // One object of each cycle that `graph` has not reached yet; in cycles of tensors, which have
    // no names, each tensor with a gradient.
    std::vector<Root> cycle_roots(const HeapGraph& graph) const;
    // The remaining objects.
    std::vector<Root> other_roots(const HeapGraph& graph) const;

    // For the object of a root from cycle_roots(): " in a reference cycle (a -> b -> a): only the
    // garbage collector frees it".
    std::string detail_of(const Root& root) const;

private:
    void count_references();
    void find_groups();
    std::vector<Vertex> shortest_circle(uint32_t from) const;

    std::vector<PyObject*> objects_;
    HeapGraph graph_;
    std::vector<uint32_t> targets_;       // of edges, grouped by source vertex
    std::vector<uint32_t> begins_;        // by vertex: begin in targets_; one more at the end
    std::vector<Py_ssize_t> references_;  // by vertex: references from the others
    std::vector<uint32_t> groups_;        // by vertex: a group's members reach each other
    std::vector<bool> is_cycle_;          // by group
    std::unordered_map<PyObject*, uint32_t> vertices_;
};

}  // namespace peakline::pyhook
