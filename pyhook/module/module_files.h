// Messages and files of the Python side, without using descriptors of the program: see
// allocator/record/files/own_descriptors.h.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// (text): one line on standard error, "peakline: ...".
PyObject* say(PyObject*, PyObject* text);
// (what, text): a line for `peakline run`. Returns False if `peakline run` does not listen.
PyObject* note(PyObject*, PyObject* arguments);
// (path, most_bytes): the beginning of a file; b"" if it cannot be read.
PyObject* read_file(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
