// The part of peakline._recorder for torch_objects/: watches objects of the program, names them,
// and reports tensors with their storages.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// ---- objects that have methods in stacks, or whose death is seen ------------------------------

// (code, ...): the `self` of these methods is added to stacks.
PyObject* watch_methods(PyObject*, PyObject* codes);
// The address of the innermost watched `self`.
PyObject* own_instance(PyObject*, PyObject*);
// (object, class, root, path): the id of the instance; 0 when there is no room.
PyObject* name_instance(PyObject*, PyObject* arguments);
// (object): whether a stack has shown it.
PyObject* knows_instance(PyObject*, PyObject* object);
// (class with a Python __del__): learns how such classes finalise.
PyObject* learn_finalizer(PyObject*, PyObject* kind);
// (class): whether deaths of its objects are seen now.
PyObject* watch_class(PyObject*, PyObject* kind);
// (object): its number until it dies; 0 if it cannot be watched.
PyObject* watch(PyObject*, PyObject* object);
// (address, number): the object, or None when it has died.
PyObject* watched(PyObject*, PyObject* arguments);
// ([class, ...]): all objects of exactly these classes. No other thread runs Python meanwhile, and
// no other object is held afterwards: a tensor that a thread drops is freed when it would be.
PyObject* objects_of(PyObject*, PyObject* classes);

// ---- tensors ----------------------------------------------------------------------------------

// (kind, name, detail, instance): the id of the tensor.
PyObject* define_tensor(PyObject*, PyObject* arguments);
// (object, torch.Tensor): the id of shape and dtype; 0 also for objects that only imitate tensors.
PyObject* tensor_type(PyObject*, PyObject* arguments);
// (kind, [address, tensor, type, address, tensor, type, ...]): the number of addresses without a
// block.
PyObject* report_tensors(PyObject*, PyObject* arguments);
// (instance, [address, ...]): storages of the arguments of a module.
PyObject* report_inputs(PyObject*, PyObject* arguments);

}  // namespace peakline::pyhook
