// Finds the Python interpreter of this process and switches its stacks on, after proving that we
// read it right. The life-cycle code calls attach(), with the GIL held where it can be had.
#pragma once

#include "pyhook/code/code_reader.h"

namespace peakline::pyhook {

enum class PythonSupport {
    kNone,  // no Python in this process: nothing to say
    kOff,   // there is one that we do not read; `reason` says why, in one clause
    kOn,
    kWaiting,  // for the GIL: see Note [Attaching later] in late_attach.h
};

struct AttachResult {
    PythonSupport support;
    const char* reason;  // "" unless kOff; lives as long as the process
};

// Takes a few milliseconds and runs a few lines of Python in a namespace of its own. The current
// exception stays; a call after the one that had the GIL returns its result. Without the GIL, and
// when asked for the first time: `when_possible` is called once it is held, and calls attach()
// again.
AttachResult attach(void (*when_possible)());

// Reads code objects of the attached interpreter. Only while the gate is open.
const CodeReader& code_reader();

}  // namespace peakline::pyhook
