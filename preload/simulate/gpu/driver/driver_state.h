// Helpers for the simulated driver's entry points: the current context of this thread, and the
// checks at the beginning of nearly every call. An entry point takes the world's lock, checks,
// calls the model, and returns a CUresult; it throws nothing.
#pragma once

#include <cstdint>

#include <cuda.h>

#include "model/base/support.h"
#include "model/memory/world.h"
#include "model/streams/stream.h"

namespace simgpu {

// Null when this thread has no current context, as in a forked child.
Context* current_context();

// State for a call on the current context.
struct Session {
    std::unique_lock<std::mutex> lock;
    World& world;
    Context* context;

    Session()
        : lock(World::instance().lock()), world(World::instance()), context(current_context()) {}
    Device& device() { return world.device(context->device); }
    Stream* stream(CUstream handle) { return Streams::instance().resolve(handle, context); }
};

inline void* to_pointer(CUdeviceptr address) {
    return reinterpret_cast<void*>(address);
}

// One piece of device work on a stream. CUDA_ERROR_INVALID_HANDLE for an unknown stream.
CUresult enqueue_work(Session& session,
                      CUstream stream,
                      CUgraphNodeType type,
                      GraphNode** node = nullptr);

bool is_context(CUcontext context);

}  // namespace simgpu

// The first line of an entry point, or part of it: see Note [Forked children] in
// model/memory/world.h.
#define SIMGPU_INITIALIZED()                \
    if (simgpu::World::is_forked_child()) { \
        return CUDA_ERROR_NOT_INITIALIZED;  \
    }

// The first lines of an entry point: `session` is then locked and has a context.
#define SIMGPU_SESSION(session)            \
    SIMGPU_INITIALIZED()                   \
    simgpu::Session session;               \
    if ((session).context == nullptr) {    \
        return CUDA_ERROR_INVALID_CONTEXT; \
    }

// For calls that do not even need an initialised driver.
#define SIMGPU_REQUIRE_ONLY(condition)   \
    if (!(condition)) {                  \
        return CUDA_ERROR_INVALID_VALUE; \
    }

#define SIMGPU_REQUIRE(condition) \
    SIMGPU_INITIALIZED()          \
    SIMGPU_REQUIRE_ONLY(condition)

#define SIMGPU_REQUIRE_DEVICE(ordinal)                    \
    SIMGPU_INITIALIZED()                                  \
    if (!simgpu::World::instance().has_device(ordinal)) { \
        return CUDA_ERROR_INVALID_DEVICE;                 \
    }
