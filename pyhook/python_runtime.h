// Finds the Python interpreter of this process, and enables Python stacks after checking that we
// read it correctly. The life-cycle code calls attach(), with the GIL held if possible.
#pragma once

#include "pyhook/code/code_reader.h"

namespace peakline::pyhook {

enum class PythonSupport {
    kNone,  // no Python in this process
    kOff,   // an interpreter that we cannot read; `reason` explains it in one clause
    kOn,
    kWaiting,  // for the GIL: see Note [Attaching later] in late_attach.h
};

struct AttachResult {
    PythonSupport support;
    const char* reason;  // "" unless kOff; lives as long as the process
};

// Takes a few milliseconds and runs a few lines of Python in a separate namespace. The current
// exception is kept. Later calls return the result of the first call with the GIL. The first call
// without the GIL stores `when_possible`, which is called once the GIL is held, and should call
// attach() again.
AttachResult attach(void (*when_possible)());

// Reads code objects of the attached interpreter. Use it only while the gate is open.
const CodeReader& code_reader();

}  // namespace peakline::pyhook
