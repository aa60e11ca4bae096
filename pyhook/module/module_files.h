// Messages and files of the Python side, without a descriptor of the program's: see
// allocator/record/files/own_descriptors.h.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// (text): one line on standard error, "peakline: ...".
PyObject* say(PyObject*, PyObject* text);
// (what, text): a line for `peakline run`. False: nobody reads it.
PyObject* note(PyObject*, PyObject* arguments);
// (path, most_bytes): the first bytes of a file; b"" where it cannot be read.
PyObject* read_file(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
