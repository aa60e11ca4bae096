// Checks that the offsets fit the running interpreter: a chain of Python code calls back, and our
// walk is compared frame by frame with the results of CPython's own functions. attach() calls it,
// with the GIL held.
#pragma once

#include <cstddef>

#include "pyhook/code/code_reader.h"
#include "python_api.h"

namespace peakline::pyhook {

// Describes the difference if a check fails.
struct Reason {
    char text[256];
};

// Returns true if every frame agrees. Changes nothing in the program: the code runs in a separate
// dict, untraced. No exception may be set.
bool self_test(const PythonApi& api, const CodeReader& reader, Reason* reason);

// 3.13 and later publish their offsets for debuggers. Returns true if ours are equal, or if this
// version publishes none.
bool agrees_with_debug_offsets(const PythonApi& api, const PythonLayout& layout, Reason* reason);

}  // namespace peakline::pyhook
