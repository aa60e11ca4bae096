// Declarations of our replacements of driver functions, with the driver's names and arguments. Each
// calls the real function and reports the result. Types of cuda.h are replaced by plain ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::driver {

using Result = int;
using Address = unsigned long long;
using Handle = void*;
// Passed by value, on the stack.
struct IpcHandle {
    char bytes[64];
};

}  // namespace peakline::driver

#define DRIVER_CALL __attribute__((visibility("default"))) peakline::driver::Result

// NOLINTBEGIN(readability-identifier-naming): the driver's own names.
extern "C" {

using PeaklineAddress = peakline::driver::Address;
using PeaklineHandle = peakline::driver::Handle;

DRIVER_CALL cuGetProcAddress(const char* name, void** function, int version, uint64_t flags);
DRIVER_CALL cuGetProcAddress_v2(
    const char* name, void** function, int version, uint64_t flags, int* status);

DRIVER_CALL cuMemAlloc_v2(PeaklineAddress* address, size_t bytes);
DRIVER_CALL cuMemAllocPitch_v2(
    PeaklineAddress* address, size_t* pitch, size_t width, size_t height, unsigned element);
DRIVER_CALL cuMemAllocManaged(PeaklineAddress* address, size_t bytes, unsigned flags);
DRIVER_CALL cuMemAllocHost_v2(void** start, size_t bytes);
DRIVER_CALL cuMemHostAlloc(void** start, size_t bytes, unsigned flags);
DRIVER_CALL cuMemHostRegister(void* start, size_t bytes, unsigned flags);
DRIVER_CALL cuMemHostRegister_v2(void* start, size_t bytes, unsigned flags);
DRIVER_CALL cuArrayCreate_v2(PeaklineHandle* array, const void* shape);
DRIVER_CALL cuArray3DCreate_v2(PeaklineHandle* array, const void* shape);
DRIVER_CALL cuMipmappedArrayCreate(PeaklineHandle* array, const void* shape, unsigned levels);
DRIVER_CALL cuMemAllocAsync(PeaklineAddress* address, size_t bytes, PeaklineHandle stream);
DRIVER_CALL cuMemAllocAsync_ptsz(PeaklineAddress* address, size_t bytes, PeaklineHandle stream);
DRIVER_CALL cuMemAllocFromPoolAsync(PeaklineAddress* address,
                                    size_t bytes,
                                    PeaklineHandle pool,
                                    PeaklineHandle stream);
DRIVER_CALL cuMemAllocFromPoolAsync_ptsz(PeaklineAddress* address,
                                         size_t bytes,
                                         PeaklineHandle pool,
                                         PeaklineHandle stream);
DRIVER_CALL cuMemPoolCreate(PeaklineHandle* pool, const void* properties);
DRIVER_CALL cuMemCreate(PeaklineAddress* handle,
                        size_t bytes,
                        const void* properties,
                        unsigned long long flags);
DRIVER_CALL cuMemMap(PeaklineAddress address,
                     size_t bytes,
                     size_t offset,
                     PeaklineAddress handle,
                     unsigned long long flags);
DRIVER_CALL cuMemExportToShareableHandle(void* shareable,
                                         PeaklineAddress handle,
                                         int type,
                                         unsigned long long flags);
DRIVER_CALL cuMemImportFromShareableHandle(PeaklineAddress* handle, void* shareable, int type);
DRIVER_CALL cuMemRetainAllocationHandle(PeaklineAddress* handle, void* address);
DRIVER_CALL cuMulticastCreate(PeaklineAddress* handle, const void* properties);
DRIVER_CALL cuIpcGetMemHandle(peakline::driver::IpcHandle* handle, PeaklineAddress address);
DRIVER_CALL cuIpcOpenMemHandle_v2(PeaklineAddress* address,
                                  peakline::driver::IpcHandle handle,
                                  unsigned flags);
DRIVER_CALL cuImportExternalMemory(PeaklineHandle* memory, const void* description);

DRIVER_CALL cuMemFree_v2(PeaklineAddress address);
DRIVER_CALL cuMemFreeHost(void* start);
DRIVER_CALL cuMemHostUnregister(void* start);
DRIVER_CALL cuArrayDestroy(PeaklineHandle array);
DRIVER_CALL cuMipmappedArrayDestroy(PeaklineHandle array);
DRIVER_CALL cuMemFreeAsync(PeaklineAddress address, PeaklineHandle stream);
DRIVER_CALL cuMemFreeAsync_ptsz(PeaklineAddress address, PeaklineHandle stream);
DRIVER_CALL cuMemPoolDestroy(PeaklineHandle pool);
DRIVER_CALL cuMemRelease(PeaklineAddress handle);
DRIVER_CALL cuMemUnmap(PeaklineAddress address, size_t bytes);
DRIVER_CALL cuIpcCloseMemHandle(PeaklineAddress address);
DRIVER_CALL cuDestroyExternalMemory(PeaklineHandle memory);

DRIVER_CALL cuCtxCreate_v2(PeaklineHandle* context, unsigned flags, int device);
DRIVER_CALL cuCtxCreate_v3(
    PeaklineHandle* context, void* affinity, int count, unsigned flags, int device);
DRIVER_CALL cuCtxCreate_v4(PeaklineHandle* context, void* parameters, unsigned flags, int device);
DRIVER_CALL cuCtxDestroy_v2(PeaklineHandle context);
DRIVER_CALL cuDevicePrimaryCtxRetain(PeaklineHandle* context, int device);
DRIVER_CALL cuDevicePrimaryCtxRelease(int device);
DRIVER_CALL cuDevicePrimaryCtxRelease_v2(int device);
DRIVER_CALL cuDevicePrimaryCtxReset(int device);
DRIVER_CALL cuDevicePrimaryCtxReset_v2(int device);

DRIVER_CALL cuModuleLoad(PeaklineHandle* module, const char* file);
DRIVER_CALL cuModuleLoadData(PeaklineHandle* module, const void* image);
DRIVER_CALL cuModuleLoadDataEx(
    PeaklineHandle* module, const void* image, unsigned count, int* options, void** values);
DRIVER_CALL cuModuleLoadFatBinary(PeaklineHandle* module, const void* binary);
DRIVER_CALL cuModuleUnload(PeaklineHandle module);
DRIVER_CALL cuLibraryLoadData(PeaklineHandle* library,
                              const void* code,
                              int* jit_options,
                              void** jit_values,
                              unsigned jit_count,
                              int* options,
                              void** values,
                              unsigned count);
DRIVER_CALL cuLibraryLoadFromFile(PeaklineHandle* library,
                                  const char* file,
                                  int* jit_options,
                                  void** jit_values,
                                  unsigned jit_count,
                                  int* options,
                                  void** values,
                                  unsigned count);
DRIVER_CALL cuLibraryUnload(PeaklineHandle library);
DRIVER_CALL cuCtxSetLimit(int limit, size_t value);
DRIVER_CALL cuGraphInstantiateWithFlags(PeaklineHandle* executable,
                                        PeaklineHandle graph,
                                        unsigned long long flags);
DRIVER_CALL cuGraphInstantiateWithParams(PeaklineHandle* executable,
                                         PeaklineHandle graph,
                                         void* parameters);
DRIVER_CALL cuGraphInstantiateWithParams_ptsz(PeaklineHandle* executable,
                                              PeaklineHandle graph,
                                              void* parameters);
DRIVER_CALL cuGraphExecDestroy(PeaklineHandle executable);
DRIVER_CALL cuMemPoolTrimTo(PeaklineHandle pool, size_t bytes);
DRIVER_CALL cuDeviceGraphMemTrim(int device);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
