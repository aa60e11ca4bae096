#include "engine_hook.h"

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/record/hot_data.h"
#include "preload/regions/autograd_hooks.h"

namespace peakline::preload {
namespace {

// torch::autograd::Engine::execute(const edge_list& roots, const variable_list& inputs,
//     bool keep_graph, bool create_graph, bool accumulate_grad, const edge_list& outputs).
// Python's engine calls it across libraries. The result is a std::vector, so the address for it is
// a hidden first argument.
constexpr char kExecuteSymbol[] =
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE"
    "bbbS7_";
using ExecuteFunction =
    void* (*)(void*, void*, const void*, const void*, bool, bool, bool, const void*);

// torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>& graph_task, Node* node,
//     InputBuffer& inputs, const std::shared_ptr<ReadyQueue>& queue): runs the node's hooks, the
// node itself, and sums its results.
constexpr char kEvaluateSymbol[] =
    "_ZN5torch8autograd6Engine17evaluate_functionERSt10shared_ptrINS0_9GraphTaskEEPNS0_4NodeE"
    "RNS0_11InputBufferERKS2_INS0_10ReadyQueueEE";
using EvaluateFunction = void (*)(void*, void*, const void*, void*, const void*);

// Set once before the imports are redirected.
ExecuteFunction g_real_execute = nullptr;
[[PEAKLINE_HOT_DATA]] EvaluateFunction g_real_evaluate = nullptr;
[[PEAKLINE_HOT_DATA]] const torch_part::Part* g_part = nullptr;
bool g_nodes_are_hooked = false;  // or observed
bool g_scopes_are_hooked = false;

// The engine rethrows exceptions of nodes, so a destructor marks the end.
struct EngineScope {
    EngineScope() : outer_caller(begin_engine_run()) {}
    ~EngineScope() { end_engine_run(outer_caller); }
    EngineScope(const EngineScope&) = delete;
    EngineScope& operator=(const EngineScope&) = delete;
    const uint32_t outer_caller;
};

struct NodeScope {
    explicit NodeScope(const void* node) { begin_node_of(*g_part, node); }
    ~NodeScope() { end_node(); }
    NodeScope(const NodeScope&) = delete;
    NodeScope& operator=(const NodeScope&) = delete;
};

// NOLINTNEXTLINE(readability-function-size): torch's own parameters.
void* execute_hook(void* result,
                   void* engine,
                   const void* roots,
                   const void* inputs,
                   bool keep_graph,
                   bool create_graph,
                   bool accumulate_grad,
                   const void* outputs) {
    const EngineScope scope;
    return g_real_execute(
        result, engine, roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
}

[[gnu::hot]] void evaluate_hook(
    void* engine, void* graph_task, const void* node, void* inputs, const void* queue) {
    const NodeScope scope(node);
    g_real_evaluate(engine, graph_task, node, inputs, queue);
}

void hook_nodes(const torch_part::Part& part) {
    if (g_real_evaluate != nullptr && part.node_facts != nullptr) {
        g_nodes_are_hooked =
            capture::redirect_imports(
                kEvaluateSymbol, "libtorch_cpu", reinterpret_cast<void*>(evaluate_hook)) > 0;
    }
    if (!g_nodes_are_hooked && part.observe_nodes != nullptr) {
        part.observe_nodes();
        g_nodes_are_hooked = true;
    }
}

void hook_scopes(const torch_part::Part& part) {
    const torch_part::Redirection& wanted = part.step_callbacks;
    if (wanted.symbol == nullptr) {
        return;
    }
    *wanted.real = capture::find_in_loaded("libtorch_cpu.so", wanted.symbol);
    g_scopes_are_hooked =
        *wanted.real != nullptr &&
        capture::redirect_imports(wanted.symbol, wanted.library, wanted.replacement) > 0;
    if (!g_scopes_are_hooked) {
        part.observe_scopes();
        g_scopes_are_hooked = true;
    }
}

}  // namespace

void hook_engine(const torch_part::Part& part) {
    g_part = &part;
    if (g_real_execute == nullptr) {
        g_real_execute = reinterpret_cast<ExecuteFunction>(
            capture::find_in_loaded("libtorch_cpu.so", kExecuteSymbol));
        g_real_evaluate = reinterpret_cast<EvaluateFunction>(
            capture::find_in_loaded("libtorch_cpu.so", kEvaluateSymbol));
    }
    if (g_real_execute != nullptr) {
        capture::redirect_imports(
            kExecuteSymbol, "libtorch_python", reinterpret_cast<void*>(execute_hook));
    }
    if (!g_nodes_are_hooked) {
        hook_nodes(part);
    }
    if (!g_scopes_are_hooked) {
        hook_scopes(part);
    }
}

}  // namespace peakline::preload
