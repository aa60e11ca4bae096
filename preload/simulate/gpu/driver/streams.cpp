// Streams and events. Work is complete when the call that starts it returns. So queries succeed at
// once unless the stream is being captured, and waits only wait for collectives.

#include <algorithm>
#include <cstring>

#include "driver/driver_state.h"
#include "model/base/log.h"
#include "model/ranks/waiting.h"

using simgpu::Event;
using simgpu::Session;
using simgpu::Stream;
using simgpu::Streams;

namespace {

CUstream to_handle(Stream* stream) {
    return reinterpret_cast<CUstream>(stream);
}
Event* to_event(CUevent handle) {
    return reinterpret_cast<Event*>(handle);
}

constexpr int kGreatestPriority = -5;

}  // namespace

#define SIMGPU_REQUIRE_STREAM(stream)     \
    if ((stream) == nullptr) {            \
        return CUDA_ERROR_INVALID_HANDLE; \
    }

#define SIMGPU_REQUIRE_EVENT(event)             \
    if (!Streams::instance().is_event(event)) { \
        return CUDA_ERROR_INVALID_HANDLE;       \
    }

SIMGPU_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(stream != nullptr && flags <= CU_STREAM_NON_BLOCKING);
    const int clamped = priority > 0 ? 0 : std::max(priority, kGreatestPriority);
    *stream = to_handle(Streams::instance().create(session.context, flags, clamped));
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    return cuStreamCreateWithPriority(stream, flags, 0);
}

SIMGPU_API CUresult cuStreamDestroy_v2(CUstream stream) {
    SIMGPU_INITIALIZED()
    const auto lock = simgpu::World::instance().lock();
    return Streams::instance().destroy(reinterpret_cast<Stream*>(stream));
}

SIMGPU_API CUresult cuStreamSynchronize(CUstream handle) {
    simgpu::Operations unfinished;
    {
        SIMGPU_SESSION(session)
        Stream* const stream = session.stream(handle);
        SIMGPU_REQUIRE_STREAM(stream)
        session.world.release_pools_of(stream->context->device);
        const CUresult result = Streams::instance().check_may_wait(stream);
        if (result != CUDA_SUCCESS) {
            return result;
        }
        Streams::instance().finish_events();
        unfinished = stream->unfinished;
        simgpu::log_message(2, "synchronize a stream with %zu collectives", unfinished.size());
    }
    simgpu::wait_for(unfinished);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamQuery(CUstream handle) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    SIMGPU_REQUIRE_STREAM(stream)
    const CUresult result = Streams::instance().check_may_wait(stream);
    if (result != CUDA_SUCCESS) {
        return result;
    }
    return simgpu::are_done(stream->unfinished) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

SIMGPU_API CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    SIMGPU_REQUIRE_STREAM(stream)
    SIMGPU_REQUIRE_EVENT(to_event(event))
    return Streams::instance().wait_event(stream, to_event(event));
}

namespace {

template <typename Value, typename Read>
CUresult give_fact(CUstream handle, Value* value, Read read) {
    SIMGPU_SESSION(session)
    const Stream* const stream = session.stream(handle);
    SIMGPU_REQUIRE(value != nullptr);
    SIMGPU_REQUIRE_STREAM(stream)
    *value = read(*stream);
    return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
    return give_fact(handle, flags, [](const Stream& one) { return one.flags; });
}

SIMGPU_API CUresult cuStreamGetPriority(CUstream handle, int* priority) {
    return give_fact(handle, priority, [](const Stream& one) { return one.priority; });
}

SIMGPU_API CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
    return give_fact(handle, id, [](const Stream& one) { return one.id; });
}

SIMGPU_API CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
    return give_fact(handle, context, [](const Stream& one) {
        return reinterpret_cast<CUcontext>(one.context);
    });
}

#if CUDA_VERSION >= 12080
SIMGPU_API CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
    return give_fact(handle, device, [](const Stream& one) { return one.context->device; });
}
#endif

// Access policies and similar attributes only change the speed of kernels.
SIMGPU_API CUresult cuStreamSetAttribute(CUstream, CUstreamAttrID, const CUstreamAttrValue*) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamGetAttribute(CUstream, CUstreamAttrID, CUstreamAttrValue* value) {
    SIMGPU_REQUIRE(value != nullptr);
    std::memset(value, 0, sizeof *value);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamAttachMemAsync(CUstream, CUdeviceptr, size_t, unsigned) {
    SIMGPU_INITIALIZED()
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr, cuuint32_t, unsigned) {
    SIMGPU_SESSION(session)
    return simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
}

// The simulated device never writes the awaited value, so a real wait would never end.
SIMGPU_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr, cuuint32_t, unsigned) {
    SIMGPU_SESSION(session)
    return simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
}

SIMGPU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
    {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE(function != nullptr);
        simgpu::GraphNode* node = nullptr;
        const CUresult result =
            simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_HOST, &node);
        if (node != nullptr) {
            node->host_function = function;
            node->host_argument = argument;
        }
        if (result != CUDA_SUCCESS || node != nullptr) {
            return result;
        }
    }
    function(argument);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuStreamAddCallback(CUstream handle,
                                        CUstreamCallback function,
                                        void* argument,
                                        unsigned) {
    {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE(function != nullptr);
        Stream* const stream = session.stream(handle);
        SIMGPU_REQUIRE_STREAM(stream)
        const CUresult result = Streams::instance().check_may_wait(stream);
        if (result != CUDA_SUCCESS) {
            return result;
        }
    }
    function(handle, CUDA_SUCCESS, argument);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuEventCreate(CUevent* event, unsigned flags) {
    SIMGPU_SESSION(session)
    // Documented: an event shared between processes has no timing.
    SIMGPU_REQUIRE(event != nullptr && ((flags & CU_EVENT_INTERPROCESS) == 0 ||
                                        (flags & CU_EVENT_DISABLE_TIMING) != 0));
    *event =
        reinterpret_cast<CUevent>(Streams::instance().create_event(session.context->device, flags));
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuEventDestroy_v2(CUevent event) {
    SIMGPU_INITIALIZED()
    const auto lock = simgpu::World::instance().lock();
    return Streams::instance().destroy_event(to_event(event));
}

SIMGPU_API CUresult cuEventRecord(CUevent event, CUstream handle) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    SIMGPU_REQUIRE_STREAM(stream)
    SIMGPU_REQUIRE_EVENT(to_event(event))
    // Documented: the event and the stream must be of the same context.
    if (to_event(event)->device != stream->context->device) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return Streams::instance().record_event(to_event(event), stream);
}

SIMGPU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE_EVENT(to_event(event))
        return simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    }
    return cuEventRecord(event, stream);
}

SIMGPU_API CUresult cuEventQuery(CUevent event) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE_EVENT(to_event(event))
    if (const CUresult result = Streams::instance().check_unsafe_call(); result != CUDA_SUCCESS) {
        return result;
    }
    const CUresult result = Streams::instance().query_event(to_event(event));
    if (result != CUDA_SUCCESS) {
        return result;
    }
    const bool is_done =
        simgpu::are_done(to_event(event)->unfinished) && Streams::comes_in_time(to_event(event));
    return is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

SIMGPU_API CUresult cuEventSynchronize(CUevent event) {
    simgpu::Operations unfinished;
    {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE_EVENT(to_event(event))
        session.world.release_pools_of(session.context->device);
        const CUresult result = Streams::instance().query_event(to_event(event));
        if (result != CUDA_SUCCESS) {
            return result;
        }
        Streams::instance().finish_events();
        unfinished = to_event(event)->unfinished;
        simgpu::log_message(2, "synchronize an event with %zu collectives", unfinished.size());
    }
    simgpu::wait_for(unfinished);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuEventElapsedTime(float* elapsed_ms, CUevent start, CUevent end) {
    SIMGPU_SESSION(session)
    SIMGPU_REQUIRE(elapsed_ms != nullptr);
    SIMGPU_REQUIRE_EVENT(to_event(start))
    SIMGPU_REQUIRE_EVENT(to_event(end))
    // Documented: both events must be of one context.
    if (to_event(start)->device != to_event(end)->device) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    for (const Event* event : {to_event(start), to_event(end)}) {
        if (!event->was_recorded || (event->flags & CU_EVENT_DISABLE_TIMING) != 0) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
    }
    *elapsed_ms = static_cast<float>(to_event(end)->time_ms - to_event(start)->time_ms);
    return CUDA_SUCCESS;
}
