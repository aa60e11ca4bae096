#include "autograd_hooks.h"

#include <cstdlib>
#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "allocator/capture/autograd_nodes.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "allocator/record/tables/raw_stack_cache.h"
#include "allocator/record/tables/replace_tagged.h"
#include "open_regions.h"

namespace peakline::preload {
namespace {

using capture::ThreadState;
using record::Recorder;
using record::StepAction;

// Name of the scope around a run of the engine; report/attribute knows it.
constexpr char kEngineScope[] = "torch::autograd::Engine::execute";
// Prefixes of torch's scopes around methods of optimizers.
constexpr char kOptimizer[] = "Optimizer.";
constexpr char kStep[] = "Optimizer.step#";
constexpr char kZeroGrad[] = "Optimizer.zero_grad#";
// Prefix of torch's scope around the fetch of a batch.
constexpr char kNextBatch[] = "enumerate(DataLoader)#";

// Set once before anything is hooked. Maps the hash of a text, or the type of a node, to the id of
// a string. Keys of types cannot collide with hashes: their other half derives from a constant.
record::RawStackCache* g_operator_names = nullptr;
void (*g_after_step)() = nullptr;
bool g_counts_batches = false;  // for --hold
constexpr uint64_t kNodeType = 0x6E6F6465;

bool has_prefix(const char* name, const char* prefix) {
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

StepAction step_of(const char* name, StepAction of_step, StepAction of_zero_grad) {
    if (has_prefix(name, kStep)) {
        return of_step;
    }
    return has_prefix(name, kZeroGrad) ? of_zero_grad : StepAction::kNone;
}

// torch keeps the name only during the call.
uint32_t intern_operator(record::StackTable& table, const char* name) {
    const size_t length = strlen(name);
    const XXH128_hash_t hash = XXH3_128bits(name, length);
    uint32_t id = g_operator_names->find(hash.low64, hash.high64);
    if (id == 0) {
        id = table.intern_string(name, length);
        if (id != 0) {
            g_operator_names->insert(hash.low64, hash.high64, id);
        }
    }
    return id;
}

uint32_t spread(uint64_t type) {
    return static_cast<uint32_t>(record::mix64(type));
}

// Calls torch, which uses the heap, once per type whose nodes share one name. `keep`: the slot of
// this type in the thread's own table, where two types may evict each other.
[[gnu::noinline]] uint32_t name_of_node_slow(record::StackTable& table,
                                             const torch_part::Part& part,
                                             const void* node,
                                             uint64_t type,
                                             capture::NodeName* keep) {
    uint32_t id = g_operator_names->find(spread(type), kNodeType ^ type);
    if (id == 0) {
        char name[256];
        const bool is_the_types = part.node_name(node, name, sizeof name);
        id = intern_operator(table, name);
        if (!is_the_types || id == 0) {
            return id;
        }
        g_operator_names->insert(spread(type), kNodeType ^ type, id);
    }
    record::replace_tagged(keep->type, type, [&] { keep->name = id; });
    return id;
}

uint32_t name_of_node(ThreadState& state,
                      const torch_part::Part& part,
                      const void* node,
                      uint64_t type) {
    capture::NodeName& known = state.node_names[spread(type) >> (32U - capture::kNodeNameBits)];
    return __builtin_expect(known.type == type, 1)
               ? known.name
               : name_of_node_slow(Recorder::instance().table(), part, node, type, &known);
}

capture::RunningNode running_node(const ThreadState& state,
                                  uint32_t name,
                                  const void* node,
                                  const torch_part::NodeFacts& facts) {
    const bool is_leaf = facts.sequence == torch_part::kNoSequence;
    const uint32_t forward = is_leaf ? capture::forward_of_leaf(state, node)
                                     : capture::find_sequence(facts.forward_thread, facts.sequence);
    return {forward, name, is_leaf};
}

// See Note [The line of a leaf].
[[gnu::noinline]] void report_leaves_slow(const torch_part::Part& part,
                                          const void* node,
                                          uint32_t forward_node) {
    const auto report = [](const void* leaf, void* forward) {
        capture::report_leaf(leaf, *static_cast<const uint32_t*>(forward));
    };
    part.visit_leaves(node, report, &forward_node);
}

void record_engine_scope(format::ScopeAction action, StepAction step) {
    Recorder& recorder = Recorder::instance();
    ThreadState* state = recorder.is_tracing() ? capture::thread_state(recorder.table()) : nullptr;
    if (state != nullptr) {
        recorder.record_scope(
            action, state->thread_id, intern_operator(recorder.table(), kEngineScope), step);
    }
}

// Calls it with the state of this thread, if there is one.
template <class Action>
void on_this_thread(Action action) {
    ThreadState* state = capture::thread_state(Recorder::instance().table());
    if (state != nullptr) {
        action(*state);
    }
}

}  // namespace

std::atomic<uint32_t> g_graph_epoch{1};

void forget_graphs() {
    g_graph_epoch.fetch_add(1, std::memory_order_relaxed);
}

// Work inside the backward pass (recomputation, double backward) begins no forward pass. The node
// of an autograd.Function is made without gradients, too. A trace that waits for its first block is
// not opened for this mark: once it opens, graphs are marked again.
[[gnu::noinline, gnu::cold]] void mark_graph_slow(ThreadState& state, uint32_t epoch) {
    if (state.is_engine_thread || state.node_depth != 0 || !capture::are_gradients_on()) {
        return;
    }
    state.graph_epoch = epoch;
    Recorder::instance().record(format::Mark{format::MarkKind::kGraphBegin, state.thread_id, 0});
}

bool init_operator_names() {
    alignas(record::RawStackCache) static unsigned char storage[sizeof(record::RawStackCache)];
    auto* names = new (storage) record::RawStackCache;
    if (!names->init(size_t{1} << 12)) {
        return false;
    }
    g_operator_names = names;
    const char* const hold = getenv("PEAKLINE_HOLD");
    g_counts_batches = hold != nullptr && *hold != '\0';  // "" without --hold
    return true;
}

void begin_node(const char* name, int64_t sequence, uint64_t forward_thread) {
    on_this_thread([=](ThreadState& state) {
        const uint32_t interned = intern_operator(Recorder::instance().table(), name);
        const torch_part::NodeFacts facts{0, static_cast<uint64_t>(sequence), forward_thread};
        capture::begin_node(state, running_node(state, interned, nullptr, facts));
    });
}

void begin_node_of(const torch_part::Part& part, const void* node) {
    on_this_thread([&part, node](ThreadState& state) {
        const torch_part::NodeFacts facts = part.node_facts(node);
        const uint32_t name = name_of_node(state, part, node, facts.type);
        const capture::RunningNode running = running_node(state, name, node, facts);
        capture::begin_node(state, running);
        // One branch for both: neither holds on a thread of the engine.
        if (static_cast<unsigned>(capture::reports_leaves(state)) |
            static_cast<unsigned>(Recorder::instance().uses_several_gpus())) [[unlikely]] {
            report_leaves_slow(part, node, running.forward_node);
        }
    });
}

[[gnu::hot]] void end_node() {
    on_this_thread(capture::end_node);
}

// Runs without tracing, too, so that every end has its beginning.
uint32_t begin_engine_run() {
    record_engine_scope(format::ScopeAction::kBegin, StepAction::kBackwardBegun);
    uint32_t outer_caller = 0;
    on_this_thread([&outer_caller](ThreadState& state) {
        Recorder& recorder = Recorder::instance();
        uint32_t flags = 0;
        const uint32_t caller =
            recorder.is_tracing() ? capture::capture_python(recorder.table(), state, &flags) : 0;
        outer_caller = capture::begin_engine(state, caller);
    });
    return outer_caller;
}

void end_engine_run(uint32_t outer_caller) {
    forget_graphs();
    on_this_thread([=](ThreadState& state) { capture::end_engine(state, outer_caller); });
    record_engine_scope(format::ScopeAction::kEnd, StepAction::kNone);
}

// Methods of an optimizer allocate in torch's code. The line to change is the caller in the
// program.
void begin_scope(const char* name) {
    on_this_thread([name](ThreadState& state) {
        Recorder& recorder = Recorder::instance();
        begin_region(state.thread_id,
                     intern_operator(recorder.table(), name),
                     step_of(name, StepAction::kOptimizerBegun, StepAction::kZeroGradBegun));
        if (has_prefix(name, kOptimizer) && recorder.is_tracing()) {
            recorder.record_scope_caller(capture::capture_context(recorder.table(), state));
        }
        if (g_counts_batches && state.is_main_thread && has_prefix(name, kNextBatch)) {
            capture::object_side().request_safe_point(capture::SafePoint::kNextBatch);
        }
    });
}

// After a step all gradients and optimizer state exist. They may be scanned on the thread that made
// the step.
void call_after_steps(void (*call)()) {
    g_after_step = call;
}

void end_scope(const char* name) {
    on_this_thread([name](const ThreadState& state) {
        end_region(state.thread_id,
                   intern_operator(Recorder::instance().table(), name),
                   step_of(name, StepAction::kOptimizerEnded, StepAction::kZeroGradEnded));
    });
    if (has_prefix(name, kStep)) {
        on_this_thread([](const ThreadState& state) {
            if (state.is_main_thread && g_after_step != nullptr) {
                g_after_step();
            }
            if (state.is_main_thread) {
                capture::object_side().request_safe_point(Recorder::instance().is_tracing()
                                                              ? capture::SafePoint::kOptimizerStep
                                                              : capture::SafePoint::kUntracedStep);
            }
        });
    }
}

}  // namespace peakline::preload
