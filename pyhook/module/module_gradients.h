// The part of peakline._recorder that runs at every optimizer step. See module.cpp.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// ([Tensor._cdata, tensor, ...], param_groups): follows the gradients of all parameters of the
// groups. With an empty list it only remembers the parameters.
PyObject* follow_gradients(PyObject*, PyObject* arguments);

// (result of follow_gradients, param_groups). None: the groups have other parameters now. False:
// the caller must check each parameter. True: all are reported.
PyObject* report_gradients(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
