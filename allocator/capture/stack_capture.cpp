#include "stack_capture.h"

#include "autograd_nodes.h"
#include "native_stack.h"

namespace peakline::capture {
namespace {

// relaxed everywhere: set once while recording is switched on; a hook that reads the old value
// records one stack more or less.
std::atomic<PythonStackFunction> g_python_capture{nullptr};
std::atomic<bool> g_python{true};
std::atomic<bool> g_native{true};

}  // namespace

void set_python_capture(PythonStackFunction function) {
    // release: what the function uses was set up before.
    g_python_capture.store(function, std::memory_order_release);
}

void set_capture_options(const CaptureOptions& options) {
    g_python.store(options.python, std::memory_order_relaxed);
    g_native.store(options.native, std::memory_order_relaxed);
}

CaptureOptions capture_options() {
    return CaptureOptions{g_python.load(std::memory_order_relaxed),
                          g_native.load(std::memory_order_relaxed)};
}

uint32_t capture_python(record::StackTable& table, uint32_t* flags) {
    const PythonStackFunction function = g_python_capture.load(std::memory_order_acquire);
    if (function == nullptr || !g_python.load(std::memory_order_relaxed)) {
        return 0;
    }
    return function(table, flags);
}

uint32_t capture_context(record::StackTable& table, ThreadState& state) {
    record::Context context{};
    context.thread = state.thread_id;
    context.python_node = capture_python(table, &context.flags);
    if (g_native.load(std::memory_order_relaxed)) {
        context.native_node = capture_native_stack(table, state, &context.flags);
    }
    const RunningNode node = owning_node(state, context.python_node != 0);
    context.forward_node = node.forward_node;
    context.operator_name = node.operator_name;
    return table.intern_context(context);
}

}  // namespace peakline::capture
