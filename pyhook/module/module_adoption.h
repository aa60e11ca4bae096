// Part of peakline._recorder: what torch's allocator held before the recording.
#pragma once

#include "module_python.h"

namespace peakline::pyhook {

// ([(address, requested, size, stream, device, is_deferred), ...],
//  [(address, size, stream, device, is_expandable), ...]): bytes that are untraced now.
PyObject* adopt(PyObject* module, PyObject* arguments);

}  // namespace peakline::pyhook
