// Reads pickles of plain values, and nothing else: no class is looked up, no function called. For
// `peakline import`; pyhook/peakline/imports/plain_pickle.py is the way to it.
#pragma once

#include <Python.h>

namespace peakline::report::python {

// load_plain(bytes) -> what was pickled. ValueError: it holds anything else, or is cut off.
PyObject* load_plain(PyObject*, PyObject* args);

}  // namespace peakline::report::python
