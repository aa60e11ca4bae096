// Sharing between processes: handles for memory and events, and files for blocks of the virtual
// memory calls. Contents of memory are not shared, since kernels compute nothing.

#include <cstring>

#include "driver/driver_state.h"
#include "model/memory/sharing.h"

using simgpu::Event;
using simgpu::SharedHandle;
using simgpu::SharedMemory;
using simgpu::Streams;

namespace {

template <typename Handle>
void put(const SharedHandle& shared, Handle* handle) {
    static_assert(sizeof shared <= sizeof *handle);
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle, &shared, sizeof shared);
}

template <typename Handle>
SharedHandle take(const Handle& handle) {
    SharedHandle shared{};
    std::memcpy(&shared, &handle, sizeof shared);
    return shared;
}

}  // namespace

SIMGPU_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(handle != nullptr);
    SharedHandle shared{};
    const CUresult result = SharedMemory::instance().describe(address, &shared);
    if (result == CUDA_SUCCESS) {
        put(shared, handle);
    }
    return result;
}

SIMGPU_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* start,
                                          CUipcMemHandle handle,
                                          unsigned flags) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(start != nullptr && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    uintptr_t opened = 0;
    const CUresult result = SharedMemory::instance().open(take(handle), &opened);
    *start = opened;
    return result;
}

SIMGPU_API CUresult cuIpcCloseMemHandle(CUdeviceptr start) {
    SIMGPU_SESSION(session)
    return SharedMemory::instance().close(start);
}

SIMGPU_API CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(handle != nullptr);
    const auto* const known = reinterpret_cast<const Event*>(event);
    if (!Streams::instance().is_event(known)) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    SIMGPU_REQUIRE((known->flags & CU_EVENT_INTERPROCESS) != 0);
    put({simgpu::kEventMark, 0, session.context->device, reinterpret_cast<uint64_t>(event), 0},
        handle);
    return CUDA_SUCCESS;
}

// The other process's work is done by the time this process gets the handle, so the event is
// complete.
SIMGPU_API CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle handle) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(event != nullptr);
    if (take(handle).mark != simgpu::kEventMark) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *event = reinterpret_cast<CUevent>(Streams::instance().create_event(
        session.context->device, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemExportToShareableHandle(void* shareable,
                                                 CUmemGenericAllocationHandle handle,
                                                 CUmemAllocationHandleType type,
                                                 unsigned long long flags) {
    const auto lock = simgpu::World::instance().lock();
    auto* const block = reinterpret_cast<simgpu::PhysicalBlock*>(handle);
    SIMGPU_REQUIRE(shareable != nullptr && flags == 0 &&
                   simgpu::VirtualMemory::instance().is_block(block));
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    // Documented: the block must have been created for this type of handle.
    SIMGPU_REQUIRE((block->properties.requestedHandleTypes & type) != 0);
    return SharedMemory::instance().export_block(block, static_cast<int*>(shareable));
}

SIMGPU_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle,
                                                   void* shareable,
                                                   CUmemAllocationHandleType type) {
    const auto lock = simgpu::World::instance().lock();
    SIMGPU_REQUIRE(handle != nullptr);
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    simgpu::PhysicalBlock* block = nullptr;
    const int file = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    const CUresult result = SharedMemory::instance().import_block(file, &block);
    *handle = reinterpret_cast<CUmemGenericAllocationHandle>(block);
    return result;
}
