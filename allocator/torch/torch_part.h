// The border between libpeakline.so and the part compiled against the installed torch. Plain C
// types only: the two are built at different times by different compilers. libpeakline.so loads
// the part, hands it a Host, and calls peakline_torch_install().
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::torch_part {

// Raised with every change of this file; both sides compare it.
inline constexpr uint32_t kInterfaceVersion = 17;

// begin_alloc: on the stream that is current on the device the allocator chooses.
inline constexpr uint64_t kCurrentStream = ~uint64_t{0};

// Progress of the allocation that a thread is about to make.
enum AllocProgress : uint32_t {
    kNoAlloc = 0,
    kAllocBegun = 1,
    kAllocReported = 2,  // by the allocator itself (c10::reportMemoryUsageToProfiler)
    kAllocRefused = 3,   // and recorded
};

// The functions that the part calls. All are safe on any thread, never throw, never call torch.
struct Host {
    uint32_t interface_version;

    // Before a call of the allocator. Returns a pointer to this thread's AllocProgress; set it to
    // kNoAlloc after the call, however it ends. nullptr: nothing to set.
    uint32_t* (*begin_alloc)(size_t requested_bytes, uint64_t stream);
    // After the call, if the allocator returned a block and reported nothing: the block is recorded
    // with its requested size, and the part must announce its free through block_freed.
    void (*unreported_alloc)(void* address, int device, void* stream);
    void (*block_freed)(void* address, int device);  // before the real free

    // From the allocator's trace tracker, under its lock. See Note [A tracker only where needed].
    void (*tracker_attached)();  // from now on every completed free is announced before it is
                                 // reported
    void (*traced_alloc)(uint64_t address, uint64_t requested_bytes, void* stream);
    void (*free_completed)(uint64_t address);
    void (*segment)(uint32_t action,  // format::SegmentAction
                    int device,
                    void* stream,
                    uint64_t address,
                    uint64_t bytes);
    // A call of the program to the allocator. `action`: format::AllocatorAction; `pool`:
    // format::pool_number(). Call it before the real call; for the end of an action, after it.
    void (*allocator_called)(uint32_t action, int device, uint64_t pool, uint64_t value);
    void (*settings_given)(const char* settings);
    // The device refused a request: from the allocator's observer, or if it has none, when it
    // throws. `limit_bytes`: of the device, or the part that torch may use; 0: not known.
    void (*out_of_memory)(int device,
                          uint64_t requested_bytes,
                          uint64_t device_free_bytes,
                          uint64_t limit_bytes);

    // Around the execution of one autograd node on this thread, if Part::observe_nodes was called.
    void (*begin_node)(const char* name, int64_t sequence, uint64_t forward_thread);
    void (*end_node)();
    // Around a record_function region of this thread.
    void (*begin_scope)(const char* name);
    void (*end_scope)(const char* name);
};

// The sequence of a node without a number: AccumulateGrad, a leaf.
inline constexpr uint64_t kNoSequence = ~uint64_t{0};

// Facts of a torch::autograd::Node.
struct NodeFacts {
    uint64_t type;            // of the node: the same for every node of one class
    uint64_t sequence;        // or kNoSequence
    uint64_t forward_thread;  // torch's number of the thread that made the node
};

using VisitLeaf = void (*)(const void* leaf, void* data);

// The references of a tensor, by addresses; 0: none.
struct TensorFacts {
    uint64_t storage = 0;   // of its data
    uint64_t gradient = 0;  // the TensorImpl of its .grad
    uint64_t node = 0;      // its grad_fn, the node that made it
    bool is_on_device = false;
};
// Storage, shape and dtype of a tensor. Valid while the tensor lives and keeps its shape.
struct TensorType {
    uint64_t storage = 0;         // its address
    const char* dtype = nullptr;  // as Python names it: "bfloat16"; nullptr: nothing is known
    const int64_t* sizes = nullptr;
    size_t size_count = 0;
};
using VisitAddress = void (*)(uint64_t address, void* data);
using VisitSaved = void (*)(uint64_t tensor, uint64_t storage, void* data);

// A function of torch to replace by one of the part, in the libraries of torch that import it:
// `real` gets its address first.
struct Redirection {
    const char* library;
    const char* symbol;
    void* replacement;
    void** real;
};

// The functions that the part offers. Empty if it is not installed.
struct Part {
    // The handle of the stream that is current on this thread; safe under the allocator's lock.
    uint64_t (*current_stream)(int device) = nullptr;
    // The private pool that a request of this thread goes to, 0: the default one. `stream`: a
    // handle. Safe under the allocator's lock.
    uint64_t (*pool_of_request)(int device, uint64_t stream) = nullptr;
    // The functions of newer and of older versions by which torch's Python sets new settings.
    Redirection settings[2] = {};
    // Safe on any thread that does not hold the allocator's lock; the first call counts.
    void (*attach_tracker)() = nullptr;
    // Facts of a node that is about to run.
    NodeFacts (*node_facts)(const void* node) = nullptr;
    // Visits the leaves among the nodes after it.
    void (*visit_leaves)(const void* node, VisitLeaf visit, void* data) = nullptr;
    // Writes its name, cut to `room` with the end mark; false when other nodes of the same type
    // have other names. May allocate, and take the GIL for a node written in Python.
    bool (*node_name)(const void* node, char* out, size_t room) = nullptr;
    // The hook that calls begin_scope and end_scope, and the fallback if it cannot be installed.
    Redirection step_callbacks = {};
    void (*observe_scopes)() = nullptr;
    // If the engine's calls cannot be hooked: calls begin_node and end_node from an observer.
    void (*observe_nodes)() = nullptr;
    // With the GIL: the storages of the gradients of live tensors, each given by its TensorImpl
    // (Tensor._cdata); 0 for one without.
    void (*gradient_storages)(const uint64_t* tensors, size_t count, uint64_t* addresses) = nullptr;
    // The type of a live tensor, given by its TensorImpl, and of its gradient, if it has one. Runs
    // no code of the program: it does not call a subclass for its shape.
    TensorType (*tensor_type)(uint64_t tensor) = nullptr;
    TensorType (*gradient_type)(uint64_t tensor) = nullptr;
    // References that keep memory alive; with the GIL, for live tensors and nodes.
    // See Note [Saved tensors].
    // The TensorImpl of a Python object that is a tensor; 0: not known yet.
    uint64_t (*impl_of_object)(uint64_t object) = nullptr;
    TensorFacts (*tensor_facts)(uint64_t tensor) = nullptr;
    void (*visit_next)(const void* node, VisitAddress visit, void* data) = nullptr;
    // Visits the tensors saved in this memory, with their storages. `bytes`: 0 for a node.
    void (*visit_saved)(const void* memory, size_t bytes, VisitSaved visit, void* data) = nullptr;
    // The object of Python that a node holds; 0: none.
    uint64_t (*python_object_of)(const void* node) = nullptr;
};

enum class Backend : int32_t {
    kDelegate = 0,
    kObserve = 1,
    kPluggableNative = 2,
    kPluggableAsync = 3,
    kPluggableMalloc = 4,
};

enum class InstallResult : int32_t {
    kInstalled = 0,
    // CUDA was up before us: the allocator cannot be replaced any more, and is observed, whatever
    // the backend.
    kAlreadyInitialised = 1,
    kWrongInterface = 2,
    // Installed over an allocator that the program installed: its blocks are recorded with
    // their requested sizes.
    kOverProgramsAllocator = 3,
};

using InstallFunction = InstallResult (*)(const Host* host, Backend backend, Part* part);
inline constexpr char kInstallSymbol[] = "peakline_torch_install";
// A string: the build of torch that the part was compiled against. Two builds of one version may
// lay out their classes differently.
inline constexpr char kBuildSymbol[] = "peakline_torch_build";
// Whether our allocator is still the current one: a program may replace it later.
using IsCurrentFunction = bool (*)();
inline constexpr char kIsCurrentSymbol[] = "peakline_torch_is_current";

}  // namespace peakline::torch_part
