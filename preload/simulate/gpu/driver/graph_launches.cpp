// Instantiates, launches and destroys executable graphs.

#include "driver/graph_handles.h"
#include "model/streams/graph_memory.h"
#include "model/values/contents.h"

using simgpu::ExecutableGraph;
using simgpu::GraphNode;
using simgpu::HostCall;
using simgpu::make_calls;
using simgpu::to_executable;
using simgpu::to_graph;
using simgpu::World;

namespace {

CUresult instantiate(CUgraphExec* executable, CUgraph graph) {
    const auto lock = World::instance().lock();
    SIMGPU_REQUIRE(executable != nullptr && graph != nullptr);
    auto* const made = new ExecutableGraph;
    simgpu::fill_executable(*to_graph(graph), made);
    *executable = reinterpret_cast<CUgraphExec>(made);
    return CUDA_SUCCESS;
}

}  // namespace

SIMGPU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable,
                                                CUgraph graph,
                                                unsigned long long) {
    return instantiate(executable, graph);
}

SIMGPU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* executable,
                                                 CUgraph graph,
                                                 CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
    SIMGPU_REQUIRE(parameters != nullptr);
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    parameters->hErrNode_out = nullptr;
    return instantiate(executable, graph);
}

SIMGPU_API CUresult cuGraphUpload(CUgraphExec executable, CUstream) {
    SIMGPU_REQUIRE(executable != nullptr);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    std::vector<HostCall> host_calls;
    {
        SIMGPU_SESSION(session)
        SIMGPU_REQUIRE(executable != nullptr);
        GraphNode* node = nullptr;
        const CUresult result =
            simgpu::enqueue_work(session, stream, CU_GRAPH_NODE_TYPE_GRAPH, &node);
        if (result != CUDA_SUCCESS || node != nullptr) {
            return result;
        }
        if (const CUresult memory =
                simgpu::GraphMemory::instance().launch(session.world, to_executable(executable));
            memory != CUDA_SUCCESS) {
            return memory;
        }
        simgpu::Contents::instance().forget_all();
        host_calls = to_executable(executable)->host_calls;
    }
    make_calls(host_calls);
    return CUDA_SUCCESS;
}

SIMGPU_API CUresult cuGraphExecDestroy(CUgraphExec executable) {
    SIMGPU_REQUIRE(executable != nullptr);
    std::vector<HostCall> destroy_calls;
    {
        const auto lock = World::instance().lock();
        simgpu::release_user_objects(&to_executable(executable)->user_objects, &destroy_calls);
        simgpu::GraphMemory::instance().forget(to_executable(executable));
        delete to_executable(executable);
    }
    make_calls(destroy_calls);
    return CUDA_SUCCESS;
}
