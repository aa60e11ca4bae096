// Part of peakline._recorder: blocks that torch's allocator held before the recording.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// ([(address, requested, size, stream, device, is_deferred), ...],
//  [(address, size, stream, device, is_expandable), ...]): returns the bytes that are now untraced.
PyObject* adopt(PyObject* module, PyObject* arguments);

}  // namespace peakline::pyhook
