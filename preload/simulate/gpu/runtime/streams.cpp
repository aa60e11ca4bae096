// Stream and event functions that the driver lacks. generate/forwards.py forwards all others, and
// captures and graphs, to the driver.

#include "runtime/runtime_state.h"

SIMGPU_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

SIMGPU_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
