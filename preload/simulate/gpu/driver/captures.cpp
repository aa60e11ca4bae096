// Stream capture: work is recorded into a graph instead of being executed.

#include <algorithm>

#include "driver/graph_handles.h"

using simgpu::Graph;
using simgpu::GraphNode;
using simgpu::Stream;
using simgpu::Streams;
using simgpu::to_graph;
using simgpu::to_handle;
using simgpu::to_nodes;

namespace {

struct CaptureInfo {
    CUstreamCaptureStatus* status = nullptr;
    cuuint64_t* id = nullptr;
    CUgraph* graph = nullptr;
    const CUgraphNode** dependencies = nullptr;
    size_t* dependency_count = nullptr;
};

CUresult write_capture_info(CUstream handle, const CaptureInfo& info) {
    SIMGPU_SESSION(session)
    const Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    SIMGPU_REQUIRE(info.status != nullptr);
    *info.status = Streams::instance().capture_status(stream);
    const bool is_active = *info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (info.id != nullptr) {
        *info.id = is_active ? stream->capture->id : 0;
    }
    if (info.graph != nullptr) {
        *info.graph = is_active ? to_handle(stream->capture->graph) : nullptr;
    }
    if (info.dependencies != nullptr) {
        *info.dependencies =
            is_active ? reinterpret_cast<const CUgraphNode*>(stream->frontier.data()) : nullptr;
    }
    if (info.dependency_count != nullptr) {
        *info.dependency_count = is_active ? stream->frontier.size() : 0;
    }
    return CUDA_SUCCESS;
}

CUresult update_dependencies(CUstream handle, CUgraphNode* nodes, size_t count, unsigned flags) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (stream->capture == nullptr) {
        return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
        stream->frontier.clear();
    }
    for (GraphNode* node : to_nodes(nodes, count)) {
        if (std::find(stream->frontier.begin(), stream->frontier.end(), node) ==
            stream->frontier.end()) {
            stream->frontier.push_back(node);
        }
    }
    return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(handle, nullptr, nullptr, nullptr, 0, mode);
}

SIMGPU_API CUresult cuStreamBeginCaptureToGraph(CUstream handle,
                                                CUgraph graph,
                                                const CUgraphNode* dependencies,
                                                const CUgraphEdgeData*,
                                                size_t count,
                                                CUstreamCaptureMode mode) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return Streams::instance().begin_capture(
        stream, mode, to_graph(graph), to_nodes(dependencies, count));
}

SIMGPU_API CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
    SIMGPU_SESSION(session)
    Stream* const stream = session.stream(handle);
    if (stream == nullptr) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    Graph* captured = nullptr;
    const CUresult result = Streams::instance().end_capture(stream, &captured);
    if (graph != nullptr) {
        *graph = to_handle(captured);
    }
    return result;
}

SIMGPU_API CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
    return write_capture_info(handle, {.status = status});
}

SIMGPU_API CUresult cuStreamGetCaptureInfo_v2(CUstream handle,
                                              CUstreamCaptureStatus* status,
                                              cuuint64_t* id,
                                              CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              size_t* count) {
    return write_capture_info(handle, {status, id, graph, dependencies, count});
}

SIMGPU_API CUresult cuStreamGetCaptureInfo_v3(CUstream handle,
                                              CUstreamCaptureStatus* status,
                                              cuuint64_t* id,
                                              CUgraph* graph,
                                              const CUgraphNode** dependencies,
                                              const CUgraphEdgeData** edges,
                                              size_t* count) {
    if (edges != nullptr) {
        *edges = nullptr;
    }
    return write_capture_info(handle, {status, id, graph, dependencies, count});
}

SIMGPU_API CUresult cuStreamUpdateCaptureDependencies(CUstream handle,
                                                      CUgraphNode* nodes,
                                                      size_t count,
                                                      unsigned flags) {
    return update_dependencies(handle, nodes, count, flags);
}

SIMGPU_API CUresult cuStreamUpdateCaptureDependencies_v2(
    CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count, unsigned flags) {
    return update_dependencies(handle, nodes, count, flags);
}

SIMGPU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
    SIMGPU_REQUIRE(mode != nullptr);
    std::swap(*mode, simgpu::thread_capture_mode());
    return CUDA_SUCCESS;
}
