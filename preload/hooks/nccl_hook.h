// Which communicator NCCL works for, so that its memory is shown by communicator. The calls of
// loaded libraries (torch) are led through here; a program that looks NCCL up by name is not seen.
//
// Note [NCCL's own threads]
// NCCL asks for memory on the caller's thread, and where it connects ranks on threads of its own.
// There the communicator is known while one call of NCCL is in progress in the process.
#pragma once

#include <cstdint>

namespace peakline::preload {

// Leads the calls of the libraries that are loaded now. Again: those loaded since. Takes the
// loader's lock.
void hook_nccl_slow();

// What NCCL works for on this thread, as a string of the trace: "communicator 1, rank 0 of 8".
// 0: not known.
uint32_t communicator_in_use();

}  // namespace peakline::preload
