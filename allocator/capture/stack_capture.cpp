#include "stack_capture.h"

#include "allocator/record/format/trace_format.h"
#include "allocator/record/hot_data.h"
#include "allocator/record/tables/prefetch.h"
#include "allocator/record/tables/replace_tagged.h"
#include "autograd_nodes.h"
#include "native_stack.h"

namespace peakline::capture {
namespace {

// Every capture reads these, so they are adjacent.
struct alignas(record::kCacheLine) Switches {
    // relaxed, except `attached`: set once while recording is switched on; a hook that reads the
    // old value records one stack more or less.
    std::atomic<bool> attached{false};
    std::atomic<bool> waiting{false};  // see Attach::kWaiting
    std::atomic<bool> python{true};
    std::atomic<bool> native{true};
    std::atomic<bool> frees{false};
    // Written by pyhook's registration while the library loads.
    PythonSide side{[](uint32_t) { return kOtherStack; },
                    [](record::StackTable&, uint32_t*, uint32_t*) { return uint32_t{0}; },
                    [](uint32_t) {},
                    [](char* reason, size_t room, void (*)()) {
                        if (room > 0) {
                            reason[0] = '\0';
                        }
                        return Attach::kNot;
                    },
                    [] { return ""; },
                    [](int) { return false; },
                    [] {},
                    [] {},
                    [] {}};
};
[[PEAKLINE_HOT_DATA]] constinit Switches g_switches;

// Written like the Python side.
ObjectSide g_objects{[](const uint64_t*, size_t) {},
                     [] { return uint64_t{0}; },
                     [](record::StackTable&, uint64_t) { return uint32_t{0}; },
                     [](uint64_t) { return false; },
                     [](uint64_t, uint64_t) { return false; },
                     [](uint64_t) { return false; },
                     [](uint64_t) { return uint64_t{0}; },
                     [](uint64_t, uint64_t) { return false; },
                     [](SafePoint) {},
                     [] {},
                     [](SafePoint) {},
                     [](const void*) {}};

// Written once, before attach().
void (*g_main_end_handler)() = [] {};
bool (*g_are_gradients_on)() = [] { return true; };

uint32_t hash_of_pair(uint64_t first, uint64_t second) {
    return static_cast<uint32_t>(record::mix64(record::mix64(first) ^ second));
}

uint32_t hash_of(const ContextKey& key) {
    const uint64_t stacks = key.python_node | uint64_t{key.native_node} << 32U;
    const uint64_t node = key.forward_node | uint64_t{key.operator_name} << 32U;
    return hash_of_pair(stacks, node);
}

// An id, and the number of its cache entry; see CacheEntries.
struct NumberedId {
    uint32_t id;
    uint32_t number;
};

// By value, as everywhere here: taking an address would force callers to spill to the stack, on
// the fast path too.
[[gnu::noinline]] NumberedId other_context_slow(record::StackTable& table,
                                                ThreadState& state,
                                                ContextKey key,
                                                uint32_t number) {
    uint32_t id = state.contexts.find(key, hash_of, &number);
    if (id == 0) {
        // One query for each new stack saves one for each event.
        const uint32_t mode = g_are_gradients_on() ? 0U : uint32_t{format::kWithoutGradients};
        id = table.intern_context({key.thread,
                                   key.python_node,
                                   key.native_node,
                                   key.forward_node,
                                   key.operator_name,
                                   key.flags | mode});
        state.contexts.insert(key, hash_of, id, &number);
    }
    return {id, number};
}

NumberedId context_id(record::StackTable& table,
                      ThreadState& state,
                      const ContextKey& key,
                      uint32_t number) {
    const uint32_t id = state.contexts.id_of(number, key);
    return __builtin_expect(id != 0, 1) ? NumberedId{id, number}
                                        : other_context_slow(table, state, key, number);
}

uint32_t hash_of_entries(const CacheEntries& entries) {
    return hash_of_pair(entries.python | uint64_t{entries.native} << 32U, entries.context);
}

// Fetches the entries that should come next: by now they have left the caches.
void observe(ThreadState& state, const CacheEntries& entries) {
    state.predictor.observe(entries, hash_of_entries);
    const CacheEntries& next = state.predictor.predicted();
    if (next.python != entries.python) {
        g_switches.side.fetch_stack(next.python);
    }
    prefetch_native_stack(next.native);
    state.contexts.prefetch(next.context);
}

// `*flags` belong to the context.
NumberedId captured_python_node(record::StackTable& table,
                                PythonPause& pause,
                                uint32_t* flags,
                                uint32_t predicted_number) {
    NumberedId node{g_switches.side.predicted_stack(predicted_number), predicted_number};
    if (__builtin_expect(node.id == kOtherStack, 0)) {
        // Copies: taking the address of a parameter would spill it on the fast path, too.
        uint32_t its_flags = 0;
        uint32_t its_number = predicted_number;
        node.id = g_switches.side.capture_stack(table, &its_flags, &its_number);
        node.number = its_number;
        *flags = its_flags;
    }
    const bool is_whole = *flags == 0 && (node.id != 0) == (node.number != 0);
    if ((g_python_pause & 1U) != 0 && is_whole) {
        record::replace_tagged(pause.known_in, g_python_pause, [&] {
            pause.node = node.id;
            pause.stack_number = node.number;
        });
    }
    return node;
}

[[gnu::noinline, gnu::cold]] uint32_t flags_without_python() {
    return waits_for_python() ? uint32_t{format::kBeforePython} : 0;
}

// `*flags`: none yet. `predicted_number`: entry of the stack that should come.
NumberedId python_node(record::StackTable& table,
                       PythonPause& pause,
                       uint32_t* flags,
                       uint32_t predicted_number) {
    if (!g_switches.attached.load(std::memory_order_acquire) ||
        !g_switches.python.load(std::memory_order_relaxed)) [[unlikely]] {
        *flags |= flags_without_python();
        return {0, predicted_number};
    }
    if (g_python_pause == pause.known_in) {
        return {pause.node, pause.stack_number};
    }
    return captured_python_node(table, pause, flags, predicted_number);
}

NumberedId native_node(record::StackTable& table,
                       ThreadState& state,
                       uint32_t* flags,
                       uint32_t predicted_number) {
    if (!g_switches.native.load(std::memory_order_relaxed)) {
        return {0, predicted_number};
    }
    uint32_t its_flags = *flags;
    uint32_t number = predicted_number;
    const uint32_t id = capture_native_stack(table, state, &its_flags, &number);
    *flags = its_flags;
    return {id, number};
}

}  // namespace

void set_object_side(const ObjectSide& side) {
    g_objects = side;
}

const ObjectSide& object_side() {
    return g_objects;
}

void set_python_side(const PythonSide& side) {
    g_switches.side = side;
}

const PythonSide& python_side() {
    return g_switches.side;
}

void set_main_end_handler(void (*handler)()) {
    g_main_end_handler = handler;
}

void report_main_end() {
    g_main_end_handler();
}

Attach attach_python(char* reason, size_t room, void (*when_possible)()) {
    // Set before another thread may end the waiting.
    g_switches.waiting.store(true, std::memory_order_relaxed);
    const Attach result = g_switches.side.attach(reason, room, when_possible);
    if (result != Attach::kWaiting) {
        // release: the setup by attach is visible to every capture.
        g_switches.attached.store(result == Attach::kAttached, std::memory_order_release);
        g_switches.waiting.store(false, std::memory_order_relaxed);
    }
    return result;
}

bool waits_for_python() {
    return g_switches.waiting.load(std::memory_order_relaxed) &&
           g_switches.python.load(std::memory_order_relaxed);
}

void set_grad_mode(bool (*is_enabled)()) {
    if (is_enabled != nullptr) {
        g_are_gradients_on = is_enabled;
    }
}

bool are_gradients_on() {
    return g_are_gradients_on();
}

void set_capture_options(const CaptureOptions& options) {
    g_switches.python.store(options.python, std::memory_order_relaxed);
    g_switches.native.store(options.native, std::memory_order_relaxed);
    g_switches.frees.store(options.frees, std::memory_order_relaxed);
}

[[gnu::flatten, gnu::hot]] uint32_t capture_python(record::StackTable& table,
                                                   ThreadState& state,
                                                   uint32_t* flags) {
    const NumberedId python =
        python_node(table, state.pause, flags, state.predictor.predicted().python);
    observe(state, CacheEntries{python.number, 0, 0});
    return python.id;
}

[[gnu::flatten, gnu::hot]] uint32_t capture_context(record::StackTable& table, ThreadState& state) {
    uint32_t flags = 0;
    const CacheEntries& predicted = state.predictor.predicted();
    const NumberedId python = python_node(table, state.pause, &flags, predicted.python);
    const NumberedId native = native_node(table, state, &flags, predicted.native);
    const RunningNode node = owning_node(state, python.id != 0);
    const ContextKey key{
        state.thread_id, python.id, native.id, node.forward_node, node.operator_name, flags};
    const NumberedId context = context_id(table, state, key, predicted.context);
    observe(state, CacheEntries{python.number, native.number, context.number});
    return context.id;
}

uint32_t capture_free(record::StackTable& table, ThreadState& state) {
    return __builtin_expect(g_switches.frees.load(std::memory_order_relaxed), 0)
               ? capture_context(table, state)
               : 0;
}

}  // namespace peakline::capture
