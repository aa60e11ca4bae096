// Stream and event functions that the driver lacks. generate/forwards.py forwards all others, and
// captures and graphs, to the driver.

#include <cstring>

#include "runtime/runtime_state.h"

SIMGPU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

SIMGPU_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

SIMGPU_API cudaError_t cudaStreamSetAttribute(cudaStream_t,
                                              cudaStreamAttrID,
                                              const cudaStreamAttrValue*) {
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaStreamGetAttribute(cudaStream_t,
                                              cudaStreamAttrID,
                                              cudaStreamAttrValue* value) {
    SIMGPU_REQUIRE_VALUE(value != nullptr)
    std::memset(value, 0, sizeof *value);
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
