// Reads objects that another thread of Python may be destroying. Part of peakline._recorder, see
// module.cpp.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// (parameter, opcodes): its gradient; None if there is none, or if another thread may be about to
// destroy it. `opcodes` are those of the instructions that store and delete attributes.
//
// torch gives the GIL away while it destroys a tensor, and `parameter.grad` still leads to a
// gradient of which `parameter.grad = None` is destroying the rest: reading it then crashes. So the
// threads are looked at first, and between that look and the reading nothing gives the GIL away.
PyObject* gradient_of(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
