// Reads pickles of plain values, and nothing else: it looks up no class and calls no function. For
// `peakline import`, through pyhook/peakline/imports/plain_pickle.py.
#pragma once

#include <Python.h>

namespace peakline::report::python {

// load_plain(bytes) -> the pickled value. ValueError: it has other objects, or is cut off.
PyObject* load_plain(PyObject*, PyObject* args);

}  // namespace peakline::report::python
