#include "stack_capture.h"

#include "autograd_nodes.h"
#include "native_stack.h"

namespace peakline::capture {
namespace {

// relaxed everywhere: set once while recording is switched on; a hook that reads the old value
// records one stack more or less.
std::atomic<bool> g_attached{false};
std::atomic<bool> g_python{true};
std::atomic<bool> g_native{true};

// Written by pyhook's registration while the library loads.
PythonSide g_side{[](char* reason, size_t room) {
                      if (room > 0) {
                          reason[0] = '\0';
                      }
                      return false;
                  },
                  [](record::StackTable&, uint32_t*) { return uint32_t{0}; },
                  [] { return ""; },
                  [] {},
                  [] {},
                  [] {}};

// The same.
ObjectSide g_objects{[](uint64_t, uint64_t) {},
                     [] { return uint64_t{0}; },
                     [](record::StackTable&, uint64_t) { return uint32_t{0}; },
                     [](uint64_t) {},
                     [](uint32_t) {},
                     [](uint32_t) {}};

}  // namespace

void set_object_side(const ObjectSide& side) {
    g_objects = side;
}

const ObjectSide& object_side() {
    return g_objects;
}

void set_python_side(const PythonSide& side) {
    g_side = side;
}

const PythonSide& python_side() {
    return g_side;
}

bool attach_python(char* reason, size_t room) {
    const bool attached = g_side.attach(reason, room);
    // release: what attach set up is visible to whoever captures.
    g_attached.store(attached, std::memory_order_release);
    return attached;
}

void set_capture_options(const CaptureOptions& options) {
    g_python.store(options.python, std::memory_order_relaxed);
    g_native.store(options.native, std::memory_order_relaxed);
}

uint32_t capture_python(record::StackTable& table, uint32_t* flags) {
    if (!g_attached.load(std::memory_order_acquire) || !g_python.load(std::memory_order_relaxed)) {
        return 0;
    }
    return g_side.capture_stack(table, flags);
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
