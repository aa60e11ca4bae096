// Shares memory and events between processes, with the driver's handles.

#include <cstring>

#include "runtime/runtime_state.h"

using simgpu::address_of;
using simgpu::finish;

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle));
static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle));

SIMGPU_API cudaError_t cudaIpcOpenMemHandle(void** pointer,
                                            cudaIpcMemHandle_t handle,
                                            unsigned flags) {
    SIMGPU_CONTEXT()
    SIMGPU_REQUIRE_VALUE(pointer != nullptr)
    CUipcMemHandle drivers;
    std::memcpy(&drivers, &handle, sizeof drivers);
    CUdeviceptr start = 0;
    const CUresult result = cuIpcOpenMemHandle_v2(&start, drivers, flags);
    *pointer = reinterpret_cast<void*>(start);
    return finish(result);
}

SIMGPU_API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
    SIMGPU_CONTEXT()
    CUipcEventHandle drivers;
    std::memcpy(&drivers, &handle, sizeof drivers);
    return finish(cuIpcOpenEventHandle(event, drivers));
}
