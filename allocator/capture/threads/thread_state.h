// The recorder's state of each thread: scratch space for stacks, the allocation in progress,
// and the autograd node that is running. See thread_blocks.h.
// Only the owning thread reads or writes its state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/tables/numbered_cache.h"
#include "allocator/record/tables/predictor.h"
#include "allocator/record/tables/stack_table.h"

namespace peakline::capture {

inline constexpr size_t kMaxNativeFrames = 512;
// Two for each nested engine; torch itself switches threads at 60 of them.
inline constexpr size_t kMaxNodeDepth = 128;

struct SequenceRing;

// An autograd node being executed: the stack that created it, and its name.
struct RunningNode {
    uint32_t forward_node = 0;  // the stack that made it
    uint32_t operator_name = 0;
    bool is_leaf = false;  // an AccumulateGrad
    // A run of the engine within a node (reentrant checkpointing), not a node: it represents the
    // node that ended last in it.
    bool is_engine = false;
};

// Facts known before the allocator takes its lock, used when it reports the block.
struct PendingAlloc {
    uint32_t progress = 0;  // torch_part::AllocProgress
    uint32_t context = 0;
    uint64_t requested_bytes = 0;
    uint64_t stream = 0;  // a handle, or torch_part::kCurrentStream
};

// Facts from the allocator's own trace about the block that it reports next.
struct TracedAlloc {
    uint64_t address = 0;
    uint64_t requested_bytes = 0;
    uint64_t stream = 0;
};

// The current stream of a device, see preload/hooks/stream_hook.h.
struct KnownStream {
    uint64_t libraries = 0;  // valid while no more libraries are loaded; 0: not known
    uint32_t device = 0;
    uint32_t id = 0;
    // The stream that torch made current last, and the number of libraries loaded then.
    uint64_t set_libraries = 0;
    uint64_t set_device = 0;
    uint64_t set_stream = 0;
};

// The name of a type of autograd nodes. type 0: none.
struct NodeName {
    uint64_t type = 0;
    uint32_t name = 0;
};
inline constexpr unsigned kNodeNameBits = 8;

// The parts of a context.
struct ContextKey {
    uint32_t thread;
    uint32_t python_node;
    uint32_t native_node;
    uint32_t forward_node;
    uint32_t operator_name;
    uint32_t flags;

    // One branch instead of six, see Note [In one line] in hot_data.h.
    bool operator==(const ContextKey& other) const {
        return ((thread ^ other.thread) | (python_node ^ other.python_node) |
                (native_node ^ other.native_node) | (forward_node ^ other.forward_node) |
                (operator_name ^ other.operator_name) | (flags ^ other.flags)) == 0;
    }
};

// The parts of a capture as numbers of entries in the caches of this thread; 0: none.
struct CacheEntries {
    uint32_t python;
    uint32_t native;
    uint32_t context;

    bool operator==(const CacheEntries& other) const {
        return ((python ^ other.python) | (native ^ other.native) | (context ^ other.context)) == 0;
    }
};

// The Python stack of a thread while no Python code can run on it, so that it is not read twice.
// See Note [Without the GIL] in pyhook/interpreter/gil_watch.h.
struct PythonPause {
    uint64_t known_in = 0;  // the pause in which the stack was captured
    uint32_t node = 0;
    uint32_t stack_number = 0;  // as in CacheEntries
};

// The part that is reset when another thread takes over the state.
struct ThreadBegin {
    uint32_t thread_id = 0;  // StackTable id
    PythonPause pause;
    PendingAlloc pending;
    TracedAlloc traced;
    KnownStream known_stream;
    uint64_t completed_address = 0;  // last block with a completed free, see torch_hooks
    uint32_t node_depth = 0;
    bool is_main_thread = false;
    bool is_engine_thread = false;  // of torch's autograd engine: only runs nodes and their hooks
    // The Python stack that called the engine on this thread; 0: none, or no Python.
    uint32_t engine_caller = 0;
    uint32_t graph_epoch = 0;           // see Note [Graphs] in autograd_hooks.h
    SequenceRing* sequences = nullptr;  // none before begin_sequences()
    RunningNode last_node{};            // the last ended node, no leaf: its sums come later
    RunningNode nodes[kMaxNodeDepth] = {};
    NodeName node_names[1U << kNodeNameBits] = {};
    void* native_frames[kMaxNativeFrames] = {};
};

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): lives in memory that is zero.
struct ThreadState : ThreadBegin {
    // Not reset when a thread begins: zero in new memory, else the previous thread's content.
    record::Predictor<CacheEntries, 16384> predictor;
    record::NumberedCache<ContextKey, 16384> contexts;
};

// This thread's state; nullptr without memory.
[[gnu::noinline]] ThreadState* thread_state_slow(record::StackTable& table);

extern constinit thread_local ThreadState* g_thread_state
    __attribute__((tls_model("initial-exec")));

// Odd: the number of this thread's pause; even: Python code may run.
extern constinit thread_local uint64_t g_python_pause __attribute__((tls_model("initial-exec")));

inline ThreadState* thread_state(record::StackTable& table) {
    ThreadState* state = g_thread_state;
    return state != nullptr ? state : thread_state_slow(table);
}

// Call it in the child of fork.
void free_states_of_lost_threads();

}  // namespace peakline::capture
