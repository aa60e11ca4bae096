"""Functions that only call one of the driver: one row of a table each.

A row has both names, or only the runtime's if the driver's differs by `cuda` alone. Both functions
take the same parameters in the same order; types differ in name only, but a host stub becomes its
kernel. Where this version of CUDA declares other parameters, or no such function, there is no
forward.
"""

from __future__ import annotations

from collections.abc import Iterator

from .headers import Declarations, prototype, type_text

# These first make the primary context of the thread's device current.
_ON_A_CONTEXT = """
cudaDeviceSynchronize cuCtxSynchronize
cudaGetDeviceFlags cuCtxGetFlags
cudaDeviceGetStreamPriorityRange cuCtxGetStreamPriorityRange
cudaDeviceGetLimit cuCtxGetLimit
cudaDeviceSetLimit cuCtxSetLimit
cudaDeviceGetCacheConfig cuCtxGetCacheConfig
cudaDeviceSetCacheConfig cuCtxSetCacheConfig

cudaMemGetInfo cuMemGetInfo_v2
cudaMallocManaged cuMemAllocManaged
cudaMallocAsync cuMemAllocAsync
cudaMallocFromPoolAsync cuMemAllocFromPoolAsync
cudaHostGetDevicePointer cuMemHostGetDevicePointer_v2
cudaHostRegister cuMemHostRegister_v2
cudaHostUnregister cuMemHostUnregister
cudaHostGetFlags cuMemHostGetFlags
cudaMemcpyBatchAsync cuMemcpyBatchAsync_v2
cudaMemset cuMemsetD8_v2
cudaMemsetAsync cuMemsetD8Async
cudaMemset2D cuMemsetD2D8_v2
cudaMemset2DAsync cuMemsetD2D8Async

cudaIpcGetEventHandle
cudaIpcGetMemHandle
cudaIpcCloseMemHandle

cudaStreamCreateWithFlags cuStreamCreate
cudaStreamCreateWithPriority
cudaStreamSynchronize
cudaStreamQuery
cudaStreamWaitEvent
cudaStreamGetFlags
cudaStreamGetPriority
cudaStreamGetId
cudaStreamGetDevice
cudaLaunchHostFunc
cudaStreamAddCallback
cudaEventCreateWithFlags cuEventCreate
cudaEventRecord
cudaEventRecordWithFlags
cudaEventQuery
cudaEventSynchronize
cudaEventElapsedTime
cudaStreamBeginCapture cuStreamBeginCapture_v2
cudaStreamBeginCaptureToGraph
cudaStreamEndCapture
cudaStreamIsCapturing
cudaStreamGetCaptureInfo cuStreamGetCaptureInfo_v3
cudaStreamUpdateCaptureDependencies cuStreamUpdateCaptureDependencies_v2
cudaStreamGetCaptureInfo_v2
cudaGraphLaunch

cudaFuncSetAttribute
cudaOccupancyMaxActiveBlocksPerMultiprocessor
cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
cudaOccupancyAvailableDynamicSMemPerBlock
cudaLibraryLoadData
"""
_WITHOUT_ONE = """
cudaDriverGetVersion
cudaGetExportTable
cudaDeviceGetPCIBusId
cudaDeviceGetByPCIBusId
cudaDeviceCanAccessPeer
cudaDeviceGetP2PAttribute

cudaDeviceGetDefaultMemPool
cudaDeviceGetMemPool
cudaDeviceSetMemPool
cudaMemPoolCreate
cudaMemPoolDestroy
cudaMemPoolTrimTo
cudaMemPoolSetAttribute
cudaMemPoolGetAttribute
cudaMemPoolSetAccess
cudaMemPoolGetAccess
cudaDeviceGetGraphMemAttribute
cudaDeviceSetGraphMemAttribute
cudaDeviceGraphMemTrim

cudaStreamGetAttribute
cudaStreamSetAttribute
cudaStreamDestroy cuStreamDestroy_v2
cudaEventDestroy cuEventDestroy_v2
cudaGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
cudaGraphAddDependencies cuGraphAddDependencies_v2
cudaThreadExchangeStreamCaptureMode
cudaGraphCreate
cudaGraphDestroy
cudaGraphClone
cudaGraphGetNodes
cudaGraphGetRootNodes
cudaGraphNodeGetType
cudaGraphAddEmptyNode
cudaGraphAddHostNode
cudaGraphAddChildGraphNode
cudaGraphInstantiate cuGraphInstantiateWithFlags
cudaGraphInstantiateWithFlags
cudaGraphInstantiateWithParams
cudaGraphUpload
cudaGraphExecDestroy
cudaUserObjectCreate
cudaUserObjectRetain
cudaUserObjectRelease
cudaGraphRetainUserObject

cudaFuncGetName
cudaFuncSetCacheConfig
cudaOccupancyMaxActiveClusters
cudaOccupancyMaxPotentialClusterSize
cudaLibraryGetKernel
cudaLibraryUnload
"""

# Driver functions that do the same under two names.
_OF_DRIVER = """
cuDeviceGetUuid cuDeviceGetUuid_v2
cuIpcOpenMemHandle cuIpcOpenMemHandle_v2
cuEventElapsedTime_v2 cuEventElapsedTime
cuMemcpyHtoD_v2 cuMemcpy
cuMemcpyDtoH_v2 cuMemcpy
cuMemcpyDtoD_v2 cuMemcpy
cuMemcpyHtoDAsync_v2 cuMemcpyAsync
cuMemcpyDtoHAsync_v2 cuMemcpyAsync
cuMemcpyDtoDAsync_v2 cuMemcpyAsync
cuMemcpy2DUnaligned_v2 cuMemcpy2D_v2
cuModuleLoad cuModuleLoadData
cuModuleLoadFatBinary cuModuleLoadData
cuLibraryLoadFromFile cuLibraryLoadData
cuLibraryUnload cuModuleUnload
cuLibraryGetKernel cuModuleGetFunction
cuLibraryGetGlobal cuModuleGetGlobal_v2
cuKernelGetName cuFuncGetName
"""


def runtime_forwards(runtime: Declarations, driver: Declarations) -> str:
    """The C++ text of all forwards of the runtime that these headers allow."""
    on_a_context = "{ SIMGPU_CONTEXT() return simgpu::finish(CALL); }"
    return "\n".join(
        [
            '#include "runtime/runtime_state.h"',
            *_forwards(_ON_A_CONTEXT, on_a_context, runtime, driver),
            *_forwards(_WITHOUT_ONE, "{ return simgpu::finish(CALL); }", runtime, driver),
            "",
        ]
    )


def driver_forwards(driver: Declarations) -> str:
    """The C++ text of all second names of the driver's functions."""
    rows = _forwards(_OF_DRIVER, "{ return CALL; }", driver, driver)
    return "\n".join(['#include "driver/driver_state.h"', *rows, ""])


def _forwards(table: str, body: str, declared: Declarations, driver: Declarations) -> Iterator[str]:
    for row in filter(None, table.split("\n")):
        name, target = row.split() if " " in row else (row, row.replace("cuda", "cu", 1))
        if name not in declared.functions or target not in driver.functions:
            continue
        head, given = prototype(name, declared.functions[name])
        wanted = prototype(target, driver.functions[target])[1]
        if len(given) == len(wanted):
            types = [
                (type_text(one.type), type_text(to.type))
                for one, to in zip(given, wanted, strict=True)
            ]
            arguments = ", ".join(_argument(f"a{at}", *both) for at, both in enumerate(types))
            yield f"SIMGPU_API {head} {body.replace('CALL', f'{target}({arguments})')}"


def _argument(name: str, given: str, wanted: str) -> str:
    is_host_stub = wanted == "CUfunction" and given == "const void *"
    return f"simgpu::kernel_of({name})" if is_host_stub else f"({wanted}){name}"
