"""Runtime functions that only call a driver function of another name: one row of a table each.

Both take the same parameters in the same order; types differ in name only. Where this version of
CUDA declares other parameters, or no such function, there is no forward.
"""

from __future__ import annotations

from .headers import Declarations, prototype, type_text

# These first make the primary context of the thread's device current.
_ON_A_CONTEXT = """
cudaDeviceSynchronize cuCtxSynchronize
cudaGetDeviceFlags cuCtxGetFlags
cudaDeviceGetStreamPriorityRange cuCtxGetStreamPriorityRange
cudaDeviceGetLimit cuCtxGetLimit
cudaDeviceSetLimit cuCtxSetLimit

cudaMemGetInfo cuMemGetInfo_v2
cudaHostRegister cuMemHostRegister_v2
cudaHostUnregister cuMemHostUnregister
cudaHostGetFlags cuMemHostGetFlags
cudaMemsetAsync cuMemsetD8Async
cudaMemset2DAsync cuMemsetD2D8Async

cudaIpcGetEventHandle cuIpcGetEventHandle
cudaIpcGetMemHandle cuIpcGetMemHandle
cudaIpcCloseMemHandle cuIpcCloseMemHandle

cudaStreamCreateWithPriority cuStreamCreateWithPriority
cudaStreamSynchronize cuStreamSynchronize
cudaStreamQuery cuStreamQuery
cudaStreamWaitEvent cuStreamWaitEvent
cudaStreamGetFlags cuStreamGetFlags
cudaStreamGetPriority cuStreamGetPriority
cudaStreamGetId cuStreamGetId
cudaStreamGetDevice cuStreamGetDevice
cudaLaunchHostFunc cuLaunchHostFunc
cudaStreamAddCallback cuStreamAddCallback
cudaEventCreateWithFlags cuEventCreate
cudaEventRecord cuEventRecord
cudaEventRecordWithFlags cuEventRecordWithFlags
cudaEventQuery cuEventQuery
cudaEventSynchronize cuEventSynchronize
cudaEventElapsedTime cuEventElapsedTime
cudaStreamBeginCapture cuStreamBeginCapture_v2
cudaStreamBeginCaptureToGraph cuStreamBeginCaptureToGraph
cudaStreamEndCapture cuStreamEndCapture
cudaStreamIsCapturing cuStreamIsCapturing
cudaStreamGetCaptureInfo cuStreamGetCaptureInfo_v3
cudaStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2
cudaStreamGetCaptureInfo_v2 cuStreamGetCaptureInfo_v2
cudaGraphLaunch cuGraphLaunch
"""
_WITHOUT_ONE = """
cudaDriverGetVersion cuDriverGetVersion
cudaDeviceGetPCIBusId cuDeviceGetPCIBusId
cudaDeviceGetByPCIBusId cuDeviceGetByPCIBusId
cudaDeviceCanAccessPeer cuDeviceCanAccessPeer
cudaDeviceGetP2PAttribute cuDeviceGetP2PAttribute

cudaDeviceGetDefaultMemPool cuDeviceGetDefaultMemPool
cudaDeviceGetMemPool cuDeviceGetMemPool
cudaDeviceSetMemPool cuDeviceSetMemPool
cudaMemPoolCreate cuMemPoolCreate
cudaMemPoolDestroy cuMemPoolDestroy
cudaMemPoolTrimTo cuMemPoolTrimTo
cudaMemPoolSetAttribute cuMemPoolSetAttribute
cudaMemPoolGetAttribute cuMemPoolGetAttribute
cudaMemPoolSetAccess cuMemPoolSetAccess
cudaMemPoolGetAccess cuMemPoolGetAccess
cudaDeviceGetGraphMemAttribute cuDeviceGetGraphMemAttribute
cudaDeviceSetGraphMemAttribute cuDeviceSetGraphMemAttribute
cudaDeviceGraphMemTrim cuDeviceGraphMemTrim

cudaStreamDestroy cuStreamDestroy_v2
cudaEventDestroy cuEventDestroy_v2
cudaGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
cudaGraphAddDependencies cuGraphAddDependencies_v2
cudaThreadExchangeStreamCaptureMode cuThreadExchangeStreamCaptureMode
cudaGraphCreate cuGraphCreate
cudaGraphDestroy cuGraphDestroy
cudaGraphClone cuGraphClone
cudaGraphGetNodes cuGraphGetNodes
cudaGraphGetRootNodes cuGraphGetRootNodes
cudaGraphNodeGetType cuGraphNodeGetType
cudaGraphAddEmptyNode cuGraphAddEmptyNode
cudaGraphAddHostNode cuGraphAddHostNode
cudaGraphAddChildGraphNode cuGraphAddChildGraphNode
cudaGraphInstantiate cuGraphInstantiateWithFlags
cudaGraphInstantiateWithFlags cuGraphInstantiateWithFlags
cudaGraphInstantiateWithParams cuGraphInstantiateWithParams
cudaGraphUpload cuGraphUpload
cudaGraphExecDestroy cuGraphExecDestroy
cudaUserObjectCreate cuUserObjectCreate
cudaUserObjectRetain cuUserObjectRetain
cudaUserObjectRelease cuUserObjectRelease
cudaGraphRetainUserObject cuGraphRetainUserObject

cudaLibraryGetKernel cuLibraryGetKernel
cudaLibraryUnload cuLibraryUnload
"""


def runtime_forwards(runtime: Declarations, driver: Declarations) -> str:
    """The C++ text of all forwards that these headers allow."""
    lines = ['#include "runtime/runtime_state.h"', ""]
    for table, first in ((_ON_A_CONTEXT, "SIMGPU_CONTEXT() "), (_WITHOUT_ONE, "")):
        for row in table.split("\n"):
            if not row:
                continue
            name, target = row.split()
            forward = _forward(name, target, first, (runtime, driver))
            if forward is not None:
                lines.append(forward)
    return "\n".join(lines) + "\n"


def _forward(
    name: str, target: str, first: str, both: tuple[Declarations, Declarations]
) -> str | None:
    runtime, driver = both
    if name not in runtime.functions or target not in driver.functions:
        return None
    head, parameters = prototype(name, runtime.functions[name])
    wanted = prototype(target, driver.functions[target])[1]
    if len(parameters) != len(wanted):
        return None
    arguments = ", ".join(f"({type_text(to.type)})a{index}" for index, to in enumerate(wanted))
    return f"SIMGPU_API {head} {{ {first}return simgpu::finish({target}({arguments})); }}"
