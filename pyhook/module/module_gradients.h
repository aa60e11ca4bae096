// The part of peakline._recorder that is called at every step of an optimizer. See module.cpp.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// ([Tensor._cdata, tensor, ...], param_groups): the gradients of all parameters of the groups, or
// of none, which only remembers the parameters.
PyObject* follow_gradients(PyObject*, PyObject* arguments);

// (result of follow_gradients, param_groups). None: the groups have other parameters now. False:
// they must be asked one by one. True: all are reported.
PyObject* report_gradients(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
