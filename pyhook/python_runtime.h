// Finds the Python interpreter of this process and switches its stacks on, after proving that we
// read it right. The life-cycle code calls attach() once, with the GIL held.
#pragma once

#include "code_reader.h"

namespace peakline::pyhook {

enum class PythonSupport {
    kNone,  // no Python in this process: nothing to say
    kOff,   // there is one that we do not read; `reason` says why, in one clause
    kOn,
};

struct AttachResult {
    PythonSupport support;
    const char* reason;  // "" unless kOff; lives as long as the process
};

// Takes a few milliseconds and runs a few lines of Python in a namespace of its own. The current
// exception stays; a second call returns the first result.
AttachResult attach();

// Reads code objects of the attached interpreter. Only while the gate is open.
const CodeReader& code_reader();

}  // namespace peakline::pyhook
