#include "walk_gate.h"

#include <pthread.h>

#include "allocator/record/hot_data.h"
#include "thread_scratch.h"

namespace peakline::pyhook {

[[PEAKLINE_HOT_DATA]] WalkGate g_walk_gate;

namespace {
// Written before the state becomes kExiting, by the exiting thread.
std::atomic<pthread_t> g_exiting_thread{};
}  // namespace

void open_gate(const PythonLayout& layout, ThreadStateGetter getter) {
    g_walk_gate.getter.store(getter, std::memory_order_relaxed);
    g_walk_gate.thread_slot.store(find_thread_slot(getter), std::memory_order_relaxed);
    const Walkers walkers = walkers_for(layout);
    g_walk_gate.walker.store(walkers.frames, std::memory_order_relaxed);
    g_walk_gate.hash_walker.store(walkers.hash, std::memory_order_relaxed);
    g_walk_gate.comparer.store(comparer_for(layout), std::memory_order_relaxed);
    // release: a thread that sees the gate open through any chain of locks sees the pointers.
    g_walk_gate.state.store(GateState::kOpen, std::memory_order_release);
}

void close_gate_to_others_slow() {
    if (g_walk_gate.state.load(std::memory_order_relaxed) == GateState::kClosed) {
        return;
    }
    forget_thread_slot();  // from now on only this thread may pass
    g_exiting_thread.store(pthread_self(), std::memory_order_relaxed);
    g_walk_gate.state.store(GateState::kExiting, std::memory_order_seq_cst);
    wait_for_captures_slow();
}

void close_gate() {
    g_walk_gate.state.store(GateState::kClosed, std::memory_order_relaxed);
}

void forget_thread_slot() {
    g_walk_gate.thread_slot.store(0, std::memory_order_relaxed);
}

bool is_exiting_thread() {
    // relaxed: only the thread itself stores its own id here, so it cannot miss it.
    return g_exiting_thread.load(std::memory_order_relaxed) == pthread_self();
}

}  // namespace peakline::pyhook
