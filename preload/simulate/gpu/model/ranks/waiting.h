// Waits for collectives and messages that other ranks have not started yet. Every wait of a program
// begins here. It polls, because ranks are other processes and waits are rare and short.
#pragma once

#include "model/values/operation.h"

namespace simgpu {

// Finishes everything that the other ranks have started by now. Requires the world's lock.
bool are_done(const Operations& operations);

// Returns when all of them are done, or a missing rank makes that impossible. Call it without the
// world's lock.
void wait_for(const Operations& operations);

}  // namespace simgpu
