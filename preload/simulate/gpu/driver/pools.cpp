// Stream-ordered allocation: pools and cuMemAllocAsync. In a capture, allocations become graph
// nodes.

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/streams/graph_memory.h"

using simgpu::GraphMemory;
using simgpu::GraphMemoryUse;
using simgpu::MemoryKind;
using simgpu::MemoryPool;
using simgpu::Session;
using simgpu::World;

namespace {

MemoryPool* to_pool(CUmemoryPool handle) {
    return reinterpret_cast<MemoryPool*>(handle);
}
CUmemoryPool to_handle(MemoryPool* pool) {
    return reinterpret_cast<CUmemoryPool>(pool);
}

CUresult allocate(
    Session& session, MemoryPool* pool, size_t bytes, CUstream stream, CUdeviceptr* address) {
    SIMGPU_REQUIRE(address != nullptr);
    *address = 0;
    simgpu::GraphNode* node = nullptr;
    if (const CUresult result =
            simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &node);
        result != CUDA_SUCCESS) {
        return result;
    }
    // While the stream is captured, the memory belongs to the graph, not to the pool.
    if (node != nullptr) {
        node->memory = GraphMemory::instance().reserve(*pool->device(), bytes);
        *address = node->memory;
        return node->memory != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    uintptr_t start = 0;
    const CUresult result = session.world.allocate_from_pool(pool, bytes, &start);
    *address = start;
    return result;
}

int reuse_flag_index(CUmemPool_attribute attribute) {
    return static_cast<int>(attribute) -
           static_cast<int>(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES);
}

}  // namespace

SIMGPU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(pool != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    *pool = to_handle(world.default_pool(device));
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(pool != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    *pool = to_handle(world.current_pool(device));
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE_DEVICE(device);
    SIMGPU_REQUIRE(world.is_pool(to_pool(pool)));
    world.current_pool(device) = to_pool(pool);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(pool != nullptr && properties != nullptr);
    if (properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        simgpu::report_not_modelled("cuMemPoolCreate outside device memory",
                                    "CUDA_ERROR_NOT_SUPPORTED");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    SIMGPU_REQUIRE_DEVICE(properties->location.id);
    MemoryPool* const created = world.create_pool(properties->location.id);
#if CUDA_VERSION >= 12020
    created->max_bytes = properties->maxSize;
#endif
    *pool = to_handle(created);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    SIMGPU_INITIALIZED()
    World& world = World::instance();
    const auto lock = world.lock();
    return world.destroy_pool(to_pool(pool));
}

SIMGPU_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(world.is_pool(to_pool(pool)));
    to_pool(pool)->trim(keep_bytes);
    return CUDA_SUCCESS;
}

// All simulated devices have access to all pools.
SIMGPU_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc*, size_t) {
    SIMGPU_INITIALIZED()
    World& world = World::instance();
    const auto lock = world.lock();
    return world.is_pool(to_pool(pool)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_API CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags,
                                       CUmemoryPool pool,
                                       CUmemLocation*) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(flags != nullptr && world.is_pool(to_pool(pool)));
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle,
                                          CUmemPool_attribute attribute,
                                          void* value) {
    World& world = World::instance();
    const auto lock = world.lock();
    MemoryPool* const pool = to_pool(handle);
    SIMGPU_REQUIRE(value != nullptr && world.is_pool(pool));
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            pool->release_threshold_bytes = *static_cast<cuuint64_t*>(value);
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            pool->used_high_bytes = pool->used_bytes();
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            pool->reserved_high_bytes = pool->reserved_bytes();
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            pool->reuse_flags[reuse_flag_index(attribute)] = *static_cast<int*>(value);
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle,
                                          CUmemPool_attribute attribute,
                                          void* value) {
    World& world = World::instance();
    const auto lock = world.lock();
    const MemoryPool* const pool = to_pool(handle);
    SIMGPU_REQUIRE(value != nullptr && world.is_pool(pool));
    switch (attribute) {
        case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
            *static_cast<cuuint64_t*>(value) = pool->release_threshold_bytes;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = pool->used_bytes();
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = pool->used_high_bytes;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = pool->reserved_bytes();
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = pool->reserved_high_bytes;
            return CUDA_SUCCESS;
        case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
            *static_cast<int*>(value) = pool->reuse_flags[reuse_flag_index(attribute)];
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address,
                                            size_t bytes,
                                            CUmemoryPool pool,
                                            CUstream stream) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(session.world.is_pool(to_pool(pool)));
    return allocate(session, to_pool(pool), bytes, stream, address);
}

SIMGPU_API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
    SIMGPU_SESSION(session)
    return allocate(
        session, session.world.current_pool(session.context->device), bytes, stream, address);
}

SIMGPU_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    SIMGPU_SESSION(session)
    simgpu::GraphNode* node = nullptr;
    if (const CUresult result =
            simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_MEM_FREE, &node);
        result != CUDA_SUCCESS) {
        return result;
    }
    if (GraphMemory::instance().owns(address)) {
        if (node != nullptr) {
            node->memory = address;
            return CUDA_SUCCESS;
        }
        return GraphMemory::instance().free(address);
    }
    return session.world.free(address, {MemoryKind::kPool});
}

SIMGPU_API CUresult cuDeviceGetGraphMemAttribute(CUdevice device,
                                                 CUgraphMem_attribute attribute,
                                                 void* value) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE_DEVICE(device);
    SIMGPU_REQUIRE(value != nullptr);
    const GraphMemoryUse& use = GraphMemory::instance().of_device(device);
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = use.used_bytes;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = use.used_high_bytes;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
            *static_cast<cuuint64_t*>(value) = use.reserved_bytes;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            *static_cast<cuuint64_t*>(value) = use.reserved_high_bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

// Only high-water marks can be set, to reset them.
SIMGPU_API CUresult cuDeviceSetGraphMemAttribute(CUdevice device,
                                                 CUgraphMem_attribute attribute,
                                                 void* value) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE_DEVICE(device);
    SIMGPU_REQUIRE(value != nullptr && *static_cast<cuuint64_t*>(value) == 0);
    GraphMemoryUse& use = GraphMemory::instance().of_device(device);
    switch (attribute) {
        case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
            use.used_high_bytes = use.used_bytes;
            return CUDA_SUCCESS;
        case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
            use.reserved_high_bytes = use.reserved_bytes;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_API CUresult cuDeviceGraphMemTrim(CUdevice device) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE_DEVICE(device);
    GraphMemory::instance().trim(world.device(device));
    return CUDA_SUCCESS;
}
