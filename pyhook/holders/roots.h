// Where the search for holders begins: variables of running functions, modules, what threads keep.
// For what none of these reaches see cycles.h. With the GIL.
#pragma once

#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "heap_graph.h"

namespace peakline::pyhook {

// The program's own functions and modules come first; those of installed libraries, and of Python
// itself, are walked later.
std::vector<Root> program_roots();

// Every object that the garbage collector knows; with the GIL and while the collector is off. A new
// reference; nullptr without the module gc.
PyObject* all_objects();

Root make_root(format::HolderKind kind, std::string name, PyObject* object);

// A module's name as the user knows it: __main__ is the script's.
std::string shown_module(const std::string& name);

}  // namespace peakline::pyhook
