// Attributes NCCL's memory to communicators. Redirects the NCCL calls of loaded libraries (torch).
// Programs that look NCCL up by name are missed.
//
// Note [NCCL's own threads]
// NCCL allocates on the caller's thread, but connects ranks on threads of its own. There the
// communicator is known only while a single call of NCCL is in progress in the process.
#pragma once

#include <cstdint>

namespace peakline::preload {

// Redirects the calls of all libraries loaded so far. Call again for later ones. Takes the loader's
// lock.
void hook_nccl_slow();

// The communicator of the NCCL call on this thread, as a string of the trace: "communicator 1, rank
// 0 of 8". 0: unknown.
uint32_t communicator_in_use();

}  // namespace peakline::preload
