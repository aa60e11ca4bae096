// Where the search for holders begins: variables of running functions, modules, what threads keep;
// and, for what none of these reaches, objects that C or C++ holds, and cycles. With the GIL.
#pragma once

#include <string>
#include <vector>

#include "heap_graph.h"

namespace peakline::pyhook {

// The program's own functions and modules come first; those of installed libraries, and of Python
// itself, are walked later.
std::vector<Root> program_roots();

// Every object that the garbage collector knows and the graph has not reached; with the GIL and
// while the collector is off. `objects`: of gc.get_objects(), a new reference; nullptr without one.
struct Unreached {
    PyObject* list = nullptr;
    std::vector<PyObject*> objects;  // borrowed from the list
};
Unreached unreached_objects(const HeapGraph& graph);
// Of these, the ones that something outside of them refers to.
std::vector<Root> outside_roots(const Unreached& unreached);
// What is left refers to itself: cycles. Instances of classes say more than what they hold.
enum class Among { kInstances, kAll };
std::vector<Root> cycle_roots(HeapGraph& graph, const Unreached& unreached, Among among);

// A module's name as the user knows it: __main__ is the script's.
std::string shown_module(const std::string& name);

}  // namespace peakline::pyhook
