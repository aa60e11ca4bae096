// Contexts: the stack of each thread, the primary context of each device, limits and settings.

#include <algorithm>
#include <vector>

#include "driver/companion.h"
#include "driver/driver_state.h"
#include "model/ranks/waiting.h"
#include "model/streams/graph_memory.h"

namespace simgpu {
namespace {

// The contexts that a thread has pushed. Plain data: library destructors still call CUDA while the
// process exits, after thread-local objects are gone.
constexpr int kStackDepth = 64;
struct ContextStack {
    Context* contexts[kStackDepth];
    int depth;
};
thread_local ContextStack g_context_stack;

bool push_context(Context* context) {
    if (g_context_stack.depth == kStackDepth) {
        return false;
    }
    g_context_stack.contexts[g_context_stack.depth++] = context;
    return true;
}

void pop_context() {
    if (g_context_stack.depth > 0) {
        --g_context_stack.depth;
    }
}

// Contexts made with cuCtxCreate. Guarded by the world's lock.
std::vector<Context*>& created_contexts() {
    static auto* const contexts = new std::vector<Context*>;
    return *contexts;
}

Context* from_handle(CUcontext handle) {
    return reinterpret_cast<Context*>(handle);
}
CUcontext to_handle(Context* context) {
    return reinterpret_cast<CUcontext>(context);
}

CUresult create_context(CUcontext* handle, unsigned flags, int device) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(handle != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    if (!world.device(device).charge(world.device(device).profile().context_bytes)) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    auto* const context = new Context{device, flags, world.next_id(), false};
    created_contexts().push_back(context);
    *handle = to_handle(context);
    return push_context(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

}  // namespace

Context* current_context() {
    const int depth = World::is_forked_child() ? 0 : g_context_stack.depth;
    return depth == 0 ? nullptr : g_context_stack.contexts[depth - 1];
}

bool is_context(CUcontext handle) {
    World& world = World::instance();
    for (int ordinal = 0; ordinal < world.device_count(); ++ordinal) {
        if (to_handle(world.device(ordinal).primary_context()) == handle) {
            return true;
        }
    }
    const auto& created = created_contexts();
    return std::find(created.begin(), created.end(), from_handle(handle)) != created.end();
}

CUresult enqueue_work(Session& session, CUstream stream, CUgraphNodeType type, GraphNode** node) {
    Stream* const resolved = session.stream(stream);
    if (resolved == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return Streams::instance().enqueue(resolved, type, node);
}

}  // namespace simgpu

using simgpu::Context;
using simgpu::World;

SIMGPU_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    SIMGPU_INITIALIZED()
    simgpu::load_companion();
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(context != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    if (!world.device(device).create_primary_context()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *context = simgpu::to_handle(world.device(device).primary_context());
    return CUDA_SUCCESS;
}

// The primary context stays until it is reset: programs expect to keep its contents.
SIMGPU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    SIMGPU_REQUIRE_DEVICE(device);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE_DEVICE(device);
    world.free_all_of_device(device);
    simgpu::GraphMemory::instance().drop(world.device(device));
    simgpu::Streams::instance().destroy_all_of(world.device(device).primary_context());
    world.device(device).destroy_primary_context();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE_DEVICE(device);
    world.device(device).primary_context()->flags = flags;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    World& world = World::instance();
    const auto lock = world.lock();
    SIMGPU_REQUIRE(flags != nullptr && active != nullptr);
    SIMGPU_REQUIRE_DEVICE(device);
    *flags = world.device(device).primary_context()->flags;
    *active = world.device(device).has_primary_context() ? 1 : 0;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device) {
    return simgpu::create_context(context, flags, device);
}

#if CUDA_VERSION >= 12050
SIMGPU_API CUresult cuCtxCreate_v4(CUcontext* context,
                                   CUctxCreateParams*,
                                   unsigned flags,
                                   CUdevice device) {
    return simgpu::create_context(context, flags, device);
}
#endif

SIMGPU_API CUresult cuCtxDestroy_v2(CUcontext handle) {
    SIMGPU_INITIALIZED()
    World& world = World::instance();
    const auto lock = world.lock();
    auto& created = simgpu::created_contexts();
    const auto found = std::find(created.begin(), created.end(), simgpu::from_handle(handle));
    if (handle == nullptr || found == created.end()) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    Context* const context = simgpu::from_handle(handle);
    created.erase(found);
    if (simgpu::current_context() == context) {
        simgpu::pop_context();
    }
    simgpu::Device& device = world.device(context->device);
    device.discharge(device.profile().context_bytes);
    delete context;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxSetCurrent(CUcontext context) {
    SIMGPU_INITIALIZED()
    if (context != nullptr && !simgpu::is_context(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    simgpu::pop_context();
    if (context != nullptr) {
        simgpu::push_context(simgpu::from_handle(context));
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetCurrent(CUcontext* context) {
    SIMGPU_REQUIRE(context != nullptr);
    *context = simgpu::to_handle(simgpu::current_context());
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxPushCurrent_v2(CUcontext context) {
    SIMGPU_INITIALIZED()
    if (!simgpu::is_context(context)) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    return simgpu::push_context(simgpu::from_handle(context)) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_OUT_OF_MEMORY;
}

SIMGPU_API CUresult cuCtxPopCurrent_v2(CUcontext* context) {
    SIMGPU_INITIALIZED()
    Context* const current = simgpu::current_context();
    if (current == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    if (context != nullptr) {
        *context = simgpu::to_handle(current);
    }
    simgpu::pop_context();
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetDevice(CUdevice* device) {
    SIMGPU_REQUIRE(device != nullptr);
    const Context* const context = simgpu::current_context();
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *device = context->device;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
    SIMGPU_REQUIRE(id != nullptr);
    const Context* const context =
        handle == nullptr ? simgpu::current_context() : simgpu::from_handle(handle);
    if (context == nullptr) {
        return CUDA_ERROR_INVALID_CONTEXT;
    }
    *id = context->id;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetFlags(unsigned* flags) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(flags != nullptr);
    *flags = session.context->flags;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
    SIMGPU_REQUIRE(version != nullptr);
    *version = CUDA_VERSION;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxSynchronize() {
    simgpu::Operations unfinished;
    {
        SIMGPU_SESSION(session)
        session.world.release_pools_of(session.context->device);
        const CUresult result =
            simgpu::Streams::instance().check_may_wait_for_device(session.context);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        simgpu::Streams::instance().finish_events();
        unfinished = simgpu::Streams::instance().unfinished_of(session.context);
    }
    simgpu::wait_for(unfinished);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    SIMGPU_INITIALIZED()
    constexpr int kGreatestPriority = -5;
    if (least != nullptr) {
        *least = 0;
    }
    if (greatest != nullptr) {
        *greatest = kGreatestPriority;
    }
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
    SIMGPU_REQUIRE(value != nullptr);
    switch (limit) {
        case CU_LIMIT_STACK_SIZE:
            *value = 1024;
            return CUDA_SUCCESS;
        case CU_LIMIT_PRINTF_FIFO_SIZE:
        case CU_LIMIT_MALLOC_HEAP_SIZE:
            *value = 8u << 20;
            return CUDA_SUCCESS;
        case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
            *value = 64;
            return CUDA_SUCCESS;
        default:
            *value = 0;
            return CUDA_ERROR_UNSUPPORTED_LIMIT;
    }
}

// Accepted: no limit has an effect on a device that runs nothing.
SIMGPU_API CUresult cuCtxSetLimit(CUlimit, size_t) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
    SIMGPU_REQUIRE(config != nullptr);
    *config = CU_FUNC_CACHE_PREFER_NONE;
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxSetCacheConfig(CUfunc_cache) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
    SIMGPU_INITIALIZED()
    return simgpu::is_context(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

SIMGPU_API CUresult cuCtxDisablePeerAccess(CUcontext peer) {
    SIMGPU_INITIALIZED()
    return simgpu::is_context(peer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
