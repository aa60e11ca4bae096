// Everything known about where an allocation is made, as one context id: Python stack, native
// stack, running autograd node. Hooks call it before the allocator takes its lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/record/stack_table.h"
#include "thread_state.h"

namespace peakline::capture {

// How the Python side is reached: pyhook registers itself, so capture knows no Python.
using PythonStackFunction = uint32_t (*)(record::StackTable& table, uint32_t* flags);

struct CaptureOptions {
    bool python = true;
    bool native = true;
};

void set_python_capture(PythonStackFunction function);
void set_capture_options(const CaptureOptions& options);
CaptureOptions capture_options();

// The Python stack of this thread, 0 when it has none or Python capture is off.
uint32_t capture_python(record::StackTable& table, uint32_t* flags);

uint32_t capture_context(record::StackTable& table, ThreadState& state);

}  // namespace peakline::capture
