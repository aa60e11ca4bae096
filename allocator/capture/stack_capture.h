// All facts about the origin of an allocation, as one context id: Python stack, native stack,
// running autograd node. Hooks call it before the allocator takes its lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/tables/stack_table.h"

namespace peakline::capture {

inline constexpr uint32_t kOtherStack = UINT32_MAX;

enum class Attach : uint8_t {
    kAttached,
    kWaiting,  // there is a Python, and this thread does not hold the GIL
    kNot,
};

// The interface to the Python side: pyhook registers itself, so capture knows no Python. Before
// that every function does nothing.
struct PythonSide {
    // Returns the node of the stack in an entry of this thread's cache (number 0: 0, without
    // frames) if it is this thread's current stack; else kOtherStack: call capture_stack.
    uint32_t (*predicted_stack)(uint32_t number);
    // This thread's stack as a node, 0 without Python frames. `*number`: the cache entry to compare
    // first, see Predictor; afterwards the entry of this stack.
    uint32_t (*capture_stack)(record::StackTable& table, uint32_t* flags, uint32_t* number);
    // Prefetches that entry of the cache.
    void (*fetch_stack)(uint32_t number);
    // Finds and verifies the interpreter. kNot: no Python stacks, and `reason` gives the cause (""
    // when this process simply has no Python). kWaiting: `when_possible` is called as soon as the
    // GIL is held, on any thread; it calls this again.
    Attach (*attach)(char* reason, size_t room, void (*when_possible)());
    // "3.11.7", or "" before attach.
    const char* (*version)();
    // Makes the program's main thread raise SystemExit(status) soon; any thread may call it. False:
    // there is no Python.
    bool (*request_exit)(int status);
    void (*prepare_fork)();
    void (*parent_after_fork)();
    void (*child_after_fork)();
};

// The reason to run our Python code, see Note [Safe points] in pyhook/interpreter/safe_point.h.
// torch_objects/ uses the same numbers.
enum class SafePoint : uint32_t {
    kNewInstance = 1,    // a stack has a module, or a call of a module, for the first time
    kOptimizerStep = 2,  // an optimizer has just made a step on this thread
    kLastLook = 4,       // a trace or the program ends
    kOutOfMemory = 8,
    kLook = 16,          // the program starts or stops tracing
    kHold = 32,          // a signal requests a search for the holders of blocks
    kUntracedStep = 64,  // as kOptimizerStep, without tracing: only counted
    kNextBatch = 128,    // a DataLoader is about to fetch a batch; only with --hold
    kStepMark = 256,     // peakline.step()
    kCompiler = 512,     // the program imports torch's compiler
};

// Objects of the program in stacks, and the moments for inspecting them: see
// pyhook/code/instances.h and pyhook/interpreter/safe_point.h.
struct ObjectSide {
    // Stacks hold the first local variable of these code objects.
    void (*watch_methods)(const uint64_t* codes, size_t count);
    // The object of the innermost watched method of this thread's stack; 0: nothing.
    uint64_t (*own_instance)();
    uint32_t (*instance_id)(record::StackTable& table, uint64_t address);
    bool (*knows_instance)(uint64_t address);
    // See pyhook/watched_objects.h.
    bool (*learn_finalizer)(uint64_t kind, uint64_t finalizer);
    bool (*watch_class)(uint64_t kind);
    uint64_t (*watch_object)(uint64_t address);
    bool (*is_object_alive)(uint64_t address, uint64_t number);
    void (*request_safe_point)(SafePoint reason);
    // Any thread may call it: if torch was not completely imported when Python stacks began, its
    // objects are named from the next safe point on.
    void (*load_if_missing)();
    void (*run_safe_point)(SafePoint reason);
    // The last look, when `caller`, a return address, is in the interpreter.
    void (*run_last_look)(const void* caller);
};

struct CaptureOptions {
    bool python = true;
    bool native = true;
    bool frees = false;  // capture the contexts of frees, too
};

void set_python_side(const PythonSide& side);
const PythonSide& python_side();
void set_object_side(const ObjectSide& side);
const ObjectSide& object_side();
// The recorder's side sets the handler; the interpreter reports the end of the program's main.
void set_main_end_handler(void (*handler)());
void report_main_end();
// PythonSide::attach. Python stacks are captured only after kAttached; captures before that have
// the flag format::kBeforePython. A thread that gets kWaiting may find that another thread has
// attached in the meantime.
Attach attach_python(char* reason, size_t room, void (*when_possible)());
// Whether Python stacks are requested, but cannot be captured yet.
bool waits_for_python();
void set_capture_options(const CaptureOptions& options);

// c10::GradMode::is_enabled(), set before anything is hooked; without it gradients count as on.
void set_grad_mode(bool (*is_enabled)());
bool are_gradients_on();

// The Python stack of this thread, 0 when it has none or Python capture is off.
uint32_t capture_python(record::StackTable& table, ThreadState& state, uint32_t* flags);

[[gnu::noinline]] uint32_t capture_context(record::StackTable& table, ThreadState& state);

// The context of a free on this thread; 0 unless CaptureOptions::frees.
uint32_t capture_free(record::StackTable& table, ThreadState& state);

}  // namespace peakline::capture
