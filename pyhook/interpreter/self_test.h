// Proves that the offsets fit the running interpreter: a chain of Python code calls back, and our
// walk is compared frame by frame with what CPython's own functions say. Called by attach(), with
// the GIL held.
#pragma once

#include <cstddef>

#include "pyhook/code/code_reader.h"
#include "python_api.h"

namespace peakline::pyhook {

// Where a failed check says what differs.
struct Reason {
    char text[256];
};

// True when every frame agrees. Changes nothing in the program: the code runs in a dict of its
// own, untraced. No exception may be set.
bool self_test(const PythonApi& api, const CodeReader& reader, Reason* reason);

// 3.13 and later publish their offsets for debuggers; true when ours are the same, or when this
// version has none.
bool agrees_with_debug_offsets(const PythonApi& api, const PythonLayout& layout, Reason* reason);

}  // namespace peakline::pyhook
