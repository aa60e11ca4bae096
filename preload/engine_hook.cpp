#include "engine_hook.h"

#include "got_patch.h"

namespace peakline::preload {
namespace {

// torch::autograd::Engine::execute(const edge_list& roots, const variable_list& inputs,
//     bool keep_graph, bool create_graph, bool accumulate_grad, const edge_list& outputs).
// Python's engine calls it across libraries. The result is a std::vector, so its place comes
// first, in a hidden argument.
constexpr char kExecuteSymbol[] =
    "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EE"
    "bbbS7_";
using ExecuteFunction =
    void* (*)(void*, void*, const void*, const void*, bool, bool, bool, const void*);

// Set once before the imports are redirected.
ExecuteFunction g_real_execute = nullptr;
const torch_part::Host* g_host = nullptr;

// The engine throws what a node threw: the end is marked then, too.
struct EngineScope {
    EngineScope() { g_host->begin_scope(kEngineScope); }
    ~EngineScope() { g_host->end_scope(kEngineScope); }
    EngineScope(const EngineScope&) = delete;
    EngineScope& operator=(const EngineScope&) = delete;
};

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

}  // namespace

void hook_engine(const torch_part::Host& host) {
    if (g_real_execute == nullptr) {
        void* found = find_in_loaded("libtorch_cpu.so", kExecuteSymbol);
        if (found == nullptr) {
            return;
        }
        g_host = &host;
        g_real_execute = reinterpret_cast<ExecuteFunction>(found);
    }
    redirect_imports(kExecuteSymbol, "libtorch_python", reinterpret_cast<void*>(execute_hook));
}

}  // namespace peakline::preload
