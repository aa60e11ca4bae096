// Roots of the search for holders: variables of running functions, modules, thread-local data.
// cycles.h covers objects that none of these reaches. Needs the GIL.
#pragma once

#include <string>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "heap_graph.h"

namespace peakline::pyhook {

// The program's own functions and modules come first. Those of installed libraries, and of Python
// itself, are walked later.
std::vector<Root> program_roots();

// Every object known to the garbage collector. Needs the GIL, with the collector off. Returns a new
// reference; nullptr without the module gc.
PyObject* all_objects();

Root make_root(format::HolderKind kind, std::string name, PyObject* object);

// A module's name for the user: the script's name for __main__.
std::string shown_module(const std::string& name);

}  // namespace peakline::pyhook
