// Waiting for collectives and messages that other ranks have still to start: what every wait of a
// program asks for first. Waiting is polling: ranks are other processes, and a wait is rare and
// short.
#pragma once

#include "model/values/operation.h"

namespace simgpu {

// Finishes what the other ranks have started by now; the caller holds the world's lock.
bool are_done(const Operations& operations);

// Returns when all of them are done, or cannot be because a rank is gone.
// Must be called without the world's lock.
void wait_for(const Operations& operations);

}  // namespace simgpu
