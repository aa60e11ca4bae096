// Notices that the program imports torch's compiler, which most programs import long after torch.
//
// Note [Imports of the compiler]
// The first function may be compiled before any memory is allocated, so no stack shows the compiler
// in time. An audit hook (PEP 578) sees imports: it patches nothing, no program can list it, and it
// is called for imports and other rare events only. torch_objects/ then connects at a safe point.
#pragma once

#include "python_api.h"

namespace peakline::pyhook {

// Call it with the GIL, once. Does nothing if the interpreter has no audit hooks.
void watch_imports(const PythonApi& api);

}  // namespace peakline::pyhook
