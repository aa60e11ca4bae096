// Streams, events, capture and graphs of the runtime: the driver's, under their runtime names.

#include <cstring>

#include "runtime/runtime_state.h"

using simgpu::finish;

namespace {

CUstreamCaptureMode to_driver(cudaStreamCaptureMode mode) {
    return static_cast<CUstreamCaptureMode>(mode);
}

const CUgraphEdgeData* to_driver(const cudaGraphEdgeData* edges) {
    return reinterpret_cast<const CUgraphEdgeData*>(edges);
}

}  // namespace

SIMGPU_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream,
                                                    unsigned flags,
                                                    int priority) {
    SIMGPU_CONTEXT()
    return finish(cuStreamCreateWithPriority(stream, flags, priority));
}

SIMGPU_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

SIMGPU_API cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}

SIMGPU_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return finish(cuStreamDestroy_v2(stream));
}

SIMGPU_API cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return finish(cuStreamSynchronize(stream));
}

SIMGPU_API cudaError_t cudaStreamQuery(cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return finish(cuStreamQuery(stream));
}

SIMGPU_API cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    SIMGPU_CONTEXT()
    return finish(cuStreamWaitEvent(stream, event, flags));
}

SIMGPU_API cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetFlags(stream, flags));
}

SIMGPU_API cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetPriority(stream, priority));
}

SIMGPU_API cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetId(stream, id));
}

#if CUDART_VERSION >= 12080
SIMGPU_API cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetDevice(stream, device));
}
#endif

SIMGPU_API cudaError_t cudaStreamSetAttribute(cudaStream_t,
                                              cudaStreamAttrID,
                                              const cudaStreamAttrValue*) {
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaStreamGetAttribute(cudaStream_t,
                                              cudaStreamAttrID,
                                              cudaStreamAttrValue* value) {
    SIMGPU_REQUIRE_VALUE(value != nullptr)
    std::memset(value, 0, sizeof *value);
    return cudaSuccess;
}

SIMGPU_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream,
                                          cudaHostFn_t function,
                                          void* argument) {
    SIMGPU_CONTEXT()
    return finish(cuLaunchHostFunc(stream, function, argument));
}

SIMGPU_API cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                             cudaStreamCallback_t function,
                                             void* argument,
                                             unsigned flags) {
    SIMGPU_CONTEXT()
    return finish(
        cuStreamAddCallback(stream, reinterpret_cast<CUstreamCallback>(function), argument, flags));
}

SIMGPU_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    SIMGPU_CONTEXT()
    return finish(cuEventCreate(event, flags));
}

SIMGPU_API cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

SIMGPU_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return finish(cuEventDestroy_v2(event));
}

SIMGPU_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return finish(cuEventRecord(event, stream));
}

SIMGPU_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                                cudaStream_t stream,
                                                unsigned flags) {
    SIMGPU_CONTEXT()
    return finish(cuEventRecordWithFlags(event, stream, flags));
}

SIMGPU_API cudaError_t cudaEventQuery(cudaEvent_t event) {
    SIMGPU_CONTEXT()
    return finish(cuEventQuery(event));
}

SIMGPU_API cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    SIMGPU_CONTEXT()
    return finish(cuEventSynchronize(event));
}

SIMGPU_API cudaError_t cudaEventElapsedTime(float* elapsed_ms, cudaEvent_t start, cudaEvent_t end) {
    SIMGPU_CONTEXT()
    return finish(cuEventElapsedTime(elapsed_ms, start, end));
}

SIMGPU_API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    SIMGPU_CONTEXT()
    return finish(cuStreamBeginCapture_v2(stream, to_driver(mode)));
}

SIMGPU_API cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream,
                                                     cudaGraph_t graph,
                                                     const cudaGraphNode_t* dependencies,
                                                     const cudaGraphEdgeData* edges,
                                                     size_t count,
                                                     cudaStreamCaptureMode mode) {
    SIMGPU_CONTEXT()
    return finish(cuStreamBeginCaptureToGraph(
        stream, graph, dependencies, to_driver(edges), count, to_driver(mode)));
}

SIMGPU_API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    SIMGPU_CONTEXT()
    return finish(cuStreamEndCapture(stream, graph));
}

SIMGPU_API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
    SIMGPU_CONTEXT()
    return finish(cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status)));
}

#if CUDART_VERSION >= 13000
SIMGPU_API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                                cudaStreamCaptureStatus* status,
                                                unsigned long long* id,
                                                cudaGraph_t* graph,
                                                const cudaGraphNode_t** dependencies,
                                                const cudaGraphEdgeData** edges,
                                                size_t* count) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetCaptureInfo_v3(stream,
                                            reinterpret_cast<CUstreamCaptureStatus*>(status),
                                            reinterpret_cast<cuuint64_t*>(id),
                                            graph,
                                            dependencies,
                                            reinterpret_cast<const CUgraphEdgeData**>(edges),
                                            count));
}

SIMGPU_API cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                           cudaGraphNode_t* nodes,
                                                           const cudaGraphEdgeData* edges,
                                                           size_t count,
                                                           unsigned flags) {
    SIMGPU_CONTEXT()
    return finish(
        cuStreamUpdateCaptureDependencies_v2(stream, nodes, to_driver(edges), count, flags));
}

SIMGPU_API cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                    cudaGraphNode_t* dependencies,
                                                    cudaGraphEdgeData* edges,
                                                    size_t* count) {
    return finish(cuGraphNodeGetDependencies_v2(
        node, dependencies, reinterpret_cast<CUgraphEdgeData*>(edges), count));
}

SIMGPU_API cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                                const cudaGraphNode_t* from,
                                                const cudaGraphNode_t* to,
                                                const cudaGraphEdgeData* edges,
                                                size_t count) {
    return finish(cuGraphAddDependencies_v2(graph, from, to, to_driver(edges), count));
}
#else
SIMGPU_API cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                                   cudaStreamCaptureStatus* status,
                                                   unsigned long long* id,
                                                   cudaGraph_t* graph,
                                                   const cudaGraphNode_t** dependencies,
                                                   size_t* count) {
    SIMGPU_CONTEXT()
    return finish(cuStreamGetCaptureInfo_v2(stream,
                                            reinterpret_cast<CUstreamCaptureStatus*>(status),
                                            reinterpret_cast<cuuint64_t*>(id),
                                            graph,
                                            dependencies,
                                            count));
}
#endif

SIMGPU_API cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    return finish(cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}

SIMGPU_API cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
    return finish(cuGraphCreate(graph, flags));
}

SIMGPU_API cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    return finish(cuGraphDestroy(graph));
}

SIMGPU_API cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
    return finish(cuGraphClone(copy, graph));
}

SIMGPU_API cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
    return finish(cuGraphGetNodes(graph, nodes, count));
}

SIMGPU_API cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph,
                                             cudaGraphNode_t* nodes,
                                             size_t* count) {
    return finish(cuGraphGetRootNodes(graph, nodes, count));
}

SIMGPU_API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
    return finish(cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type)));
}

SIMGPU_API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node,
                                             cudaGraph_t graph,
                                             const cudaGraphNode_t* dependencies,
                                             size_t count) {
    return finish(cuGraphAddEmptyNode(node, graph, dependencies, count));
}

SIMGPU_API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node,
                                            cudaGraph_t graph,
                                            const cudaGraphNode_t* dependencies,
                                            size_t count,
                                            const cudaHostNodeParams* parameters) {
    return finish(cuGraphAddHostNode(node,
                                     graph,
                                     dependencies,
                                     count,
                                     reinterpret_cast<const CUDA_HOST_NODE_PARAMS*>(parameters)));
}

SIMGPU_API cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node,
                                                  cudaGraph_t graph,
                                                  const cudaGraphNode_t* dependencies,
                                                  size_t count,
                                                  cudaGraph_t child) {
    return finish(cuGraphAddChildGraphNode(node, graph, dependencies, count, child));
}

SIMGPU_API cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable,
                                            cudaGraph_t graph,
                                            unsigned long long flags) {
    return finish(cuGraphInstantiateWithFlags(executable, graph, flags));
}

SIMGPU_API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable,
                                                     cudaGraph_t graph,
                                                     unsigned long long flags) {
    return finish(cuGraphInstantiateWithFlags(executable, graph, flags));
}

SIMGPU_API cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable,
                                                      cudaGraph_t graph,
                                                      cudaGraphInstantiateParams* parameters) {
    return finish(cuGraphInstantiateWithParams(
        executable, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters)));
}

SIMGPU_API cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
    return finish(cuGraphUpload(executable, stream));
}

SIMGPU_API cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    SIMGPU_CONTEXT()
    return finish(cuGraphLaunch(executable, stream));
}

SIMGPU_API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return finish(cuGraphExecDestroy(executable));
}

SIMGPU_API cudaError_t cudaUserObjectCreate(cudaUserObject_t* object,
                                            void* pointer,
                                            cudaHostFn_t destroy,
                                            unsigned reference_count,
                                            unsigned flags) {
    return finish(cuUserObjectCreate(object, pointer, destroy, reference_count, flags));
}

SIMGPU_API cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned count) {
    return finish(cuUserObjectRetain(object, count));
}

SIMGPU_API cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count) {
    return finish(cuUserObjectRelease(object, count));
}

SIMGPU_API cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph,
                                                 cudaUserObject_t object,
                                                 unsigned count,
                                                 unsigned flags) {
    return finish(cuGraphRetainUserObject(graph, object, count, flags));
}
