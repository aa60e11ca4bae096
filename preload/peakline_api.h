// The C interface of libpeakline.so: what the preloaded bootstrap and the Python extension module
// call. Plain C types; every function is safe to call when recording is off.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

extern "C" {

enum PeaklineWayIn : int32_t {
    kPeaklinePreload = 0,  // from the bootstrap: open a trace, start tracing
    // From Python: record, but trace only after start.
    kPeaklineSwitchAllocator = 1,
    kPeaklinePluggable = 2,  // from peakline_malloc: the allocator is the program's business
    // From the bootstrap, before torch: the driver made a context or gave memory. Opens a trace.
    kPeaklineDriver = 3,
    // From the bootstrap, while torch is imported, with the GIL: record CPU tensors. Opens a trace.
    kPeaklineCpu = 4,
};

enum PeaklineResult : int32_t {
    kPeaklineOk = 0,
    kPeaklineAlreadyOn = 1,
    kPeaklineLate = 2,  // of kPeaklineSwitchAllocator: recording, and peakline_adopt() must follow
    kPeaklineFailed = 3,
};

// Puts the recorder in place. Without the GIL lines come as soon as it is held. `message` receives
// one line for the user when the result is not Ok, or "".
int32_t peakline_enter(int32_t way_in, char* message, size_t room);

// Finds and verifies the interpreter now. Call with the GIL held, before a way in that has no GIL:
// torch calls peakline_malloc without it.
void peakline_attach_python();

// What torch's allocator holds already, after kPeaklineLate; call it once, with nothing if CUDA is
// not initialised. Returns the bytes that are untraced now.
struct PeaklineHeldBlock {
    uint64_t address;  // 0: stands for all blocks of the device
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint64_t stream;  // a handle
    uint32_t device;
    int32_t is_deferred;  // freed, but in use on another stream
};
struct PeaklineHeldSegment {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint32_t device;
    int32_t is_expandable;
};
uint64_t peakline_adopt(const struct PeaklineHeldBlock* blocks,
                        size_t block_count,
                        const struct PeaklineHeldSegment* segments,
                        size_t segment_count);

void peakline_start_tracing();
void peakline_stop_tracing();
void peakline_reset_peaks();
// kind: peakline::format::MarkKind; name may be null.
void peakline_mark(uint32_t kind, const char* name);

// PEAKLINE_STEPS=A..B: step A begins now, or step B has ended; see preload/life/recorded_steps.h.
// The first, with the GIL held, returns 0 where recording is not on yet: call it again later.
int32_t peakline_begin_recorded_steps();
void peakline_end_recorded_steps();

// Returns 0 or an errno. replace: an existing file may be replaced.
int32_t peakline_open_trace(const char* path, int32_t replace);
void peakline_close_trace();
int32_t peakline_has_trace();
// Path of the open trace, "" without one.
const char* peakline_trace_path();

// What sigaction(SIGBUS, wanted, before) of the program does while a trace is written; false: the
// signal is the program's alone. See allocator/record/files/page_guard.h.
bool peakline_program_bus_action(const struct sigaction* wanted, struct sigaction* before);

// A summary trace in memory. Free it with peakline_free_summary.
struct PeaklineSummary {
    const unsigned char* data;
    size_t size;
    void* owner;
};
int32_t peakline_write_summary(PeaklineSummary* summary);
void peakline_free_summary(PeaklineSummary* summary);

struct PeaklineStatus {
    int32_t is_on;
    int32_t is_tracing;
    int32_t has_python_stacks;
    int32_t allocator_is_ours;
    uint64_t allocs;
    uint64_t frees;
    uint64_t unknown_frees;
    uint64_t records_dropped;
    uint64_t bytes_dropped;
    uint64_t baseline_corrections;
    uint64_t stack_table_full;
    uint64_t trace_bytes;
    uint64_t trace_events;
    char backend[32];
    char note[384];  // why something is not recorded, "" when all is
};
void peakline_status(PeaklineStatus* status);

// What the options take: the words of "backend" and "stacks", the default first, null after the
// last one.
const char* peakline_option_word(const char* option, size_t index);
// What is wrong with a value of PEAKLINE_KEEP, to be said after it; "" when nothing is.
const char* peakline_keep_problem(const char* text);

// What a launcher calls the job of which this process is a rank: "torchrun NAME"; "" without one.
const char* peakline_job_of_rank(void);
// See preload/life/build_cache.h: the folder for what is compiled ("": none is usable), why not
// another, and what is wrong with a path in it ("": nothing). The link to the part for torch in it.
struct PeaklineCacheFolder {
    char folder[3840];
    char refusal[4352];
};
void peakline_cache_folder(PeaklineCacheFolder* found);
void peakline_load_problem(const char* path, char* why, size_t room);
void peakline_torch_part_name(const char* version, const char* build, char* name, size_t room);

// What the objects of the program are: see pyhook/code/instances.h and
// pyhook/interpreter/safe_point.h. Call all of these with the GIL held. Instead of those watched
// before; at most kPeaklineMaxWatched, the others are not.
enum : size_t { kPeaklineMaxWatched = 8 };
void peakline_watch_methods(const uint64_t* codes, size_t count);
uint64_t peakline_own_instance();
// Names the object at this address; null: not known. Returns its id, 0 when there is no room.
uint32_t peakline_name_instance(uint64_t address,
                                const char* class_name,
                                const char* root,
                                const char* path);
// Whether a stack has shown the object at this address, or it has a name.
int32_t peakline_knows_instance(uint64_t address);
// Objects that are known again until they die: see pyhook/watched_objects.h.
int32_t peakline_learn_finalizer(uint64_t kind, uint64_t finalizer);
int32_t peakline_watch_class(uint64_t kind);
uint64_t peakline_watch_object(uint64_t address);
int32_t peakline_is_object_alive(uint64_t address, uint64_t number);
// kind: peakline::format::TensorKind. Returns the id of this tensor.
uint32_t peakline_define_tensor(uint32_t kind,
                                const char* name,
                                const char* detail,
                                uint32_t instance);
// Id of shape and dtype of a live tensor, given by its object; 0: not known.
uint32_t peakline_tensor_type(uint64_t object);
struct PeaklineReportedTensor {
    uint64_t address;  // of its storage
    uint32_t tensor;
    uint32_t type;  // of peakline_tensor_type, or 0
};
// Returns how many addresses belong to no block.
size_t peakline_report_tensors(uint32_t kind, const PeaklineReportedTensor* tensors, size_t count);
// Remembers parameters, whose gradients are reported together; null: not possible here. Holds no
// reference to them.
struct PeaklineParameter {
    uint64_t tensor_impl;  // Tensor._cdata
    uint32_t gradient;     // id of peakline_define_tensor
};
struct PeaklineGradients;
struct PeaklineGradients* peakline_follow_gradients(const PeaklineParameter* parameters,
                                                    size_t count);
// Tells where they lie now, like peakline_report_tensors; somebody holds the parameters meanwhile,
// and they have the same TensorImpl still. False, and nothing is reported: one storage holds
// several gradients.
int32_t peakline_report_gradients(struct PeaklineGradients* gradients);
void peakline_forget_gradients(struct PeaklineGradients* gradients);
void peakline_safe_point(uint32_t reason);

// What keeps blocks alive: see pyhook/holders/.
struct PeaklineLiveBlock {
    uint64_t address;
    uint64_t ordinal;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint16_t device;
    uint16_t tensor_kind;  // format::TensorKind; 0: nobody has said
};
// Copies as many as there is room for; returns how many there are.
size_t peakline_live_blocks(PeaklineLiveBlock* out, size_t room);
// The TensorImpl of an object that is a tensor; 0: not known, or without the part that is compiled
// against torch.
uint64_t peakline_tensor_of_object(uint64_t object);
// What the tensor with this TensorImpl holds, by addresses; 0: nothing, or of no tensor. False:
// without the part that is compiled against torch this is not known.
struct PeaklineTensorFacts {
    uint64_t storage;
    uint64_t gradient;  // a TensorImpl
    uint64_t node;      // of autograd
    int32_t is_on_device;
};
int32_t peakline_tensor_facts(uint64_t tensor_impl, PeaklineTensorFacts* facts);
// Of a node, where peakline_tensor_facts() is known: the nodes after it; the tensors that it saved,
// each by its TensorImpl and its storage; its object of Python, 0 without one; its name.
using PeaklineVisitAddress = void (*)(uint64_t address, void* data);
using PeaklineVisitSaved = void (*)(uint64_t tensor_impl, uint64_t storage, void* data);
void peakline_visit_next_nodes(uint64_t node, PeaklineVisitAddress visit, void* data);
// `bytes` of memory, or 0 for those of a node.
void peakline_visit_saved(uint64_t memory, size_t bytes, PeaklineVisitSaved visit, void* data);
uint64_t peakline_python_object_of(uint64_t node);
void peakline_node_name(uint64_t node, char* out, size_t room);
// The numbers and words of format/definitions.h. Returns the number of the search, 0 when it is not
// in a trace.
struct PeaklineHolder {
    uint64_t address;
    uint64_t ordinal;
    uint32_t kind;
    uint32_t more_count;
    const char* text;
};
struct PeaklineHolderSearch {
    uint32_t reason;
    uint32_t step;
    uint32_t block_count;
    uint32_t flags;
    uint64_t object_count;
    uint64_t duration_us;
    uint64_t known_object_count;
};
uint32_t peakline_record_holders(const PeaklineHolderSearch* search,
                                 const PeaklineHolder* holders,
                                 size_t count);
// A fact about the run, for the open trace; the last one of a key counts.
void peakline_put_meta(const char* key, const char* value);

// Without a descriptor of the program's. A line for the user, see preload/options/messages.h; a
// line for `peakline run` (0: nobody reads it); the first bytes of a file (how many were read).
void peakline_say(const char* text);
int32_t peakline_note(const char* what, const char* text);
size_t peakline_read_file(const char* path, void* bytes, size_t room);

// Peak or present level of a device in bytes; measure: 0 allocated, 1 requested.
uint64_t peakline_device_bytes(uint32_t device, uint32_t measure, int32_t peak);

// Simulated devices only. What an operator that ends now has made: live tensors, each given by its
// TensorImpl. Those whose blocks were made since peakline_block_count() was `first_block` are kept.
uint64_t peakline_block_count();
void peakline_report_made_tensors(uint64_t first_block, const uint64_t* tensor_impls, size_t count);

// Simulated devices only: the program read values that do not exist.
struct PeaklineValueRead {
    const char* operators;  // those that run on this thread, outermost first, joined by '>'
    uint64_t bytes;
    int32_t is_size;            // how much an operator found
    int32_t is_floating_point;  // the values are floating-point numbers
    // The answer.
    int32_t is_assumed;   // the user said what it is
    int32_t is_fraction;  // of the elements that were searched; sizes only
    double value;
};
void peakline_value_read(PeaklineValueRead* read);
// "WHERE=VALUE", as --assume takes it. False: it does not parse, or there are too many.
int32_t peakline_assume(const char* rule);
// Takes the last rule back, if it is this one.
void peakline_assume_no_more(const char* rule);

// Marks the clean end of the process; the interposed _exit calls it, in this process only, with the
// return address of its own call.
void peakline_end_of_process(const void* caller);

// torch.cuda.memory.CUDAPluggableAllocator(library, "peakline_malloc", "peakline_free"): the plain
// allocator interface over cudaMalloc. Throws std::runtime_error when the device is full: torch
// has no other way to learn of a failure.
void* peakline_malloc(ptrdiff_t bytes, int device, void* stream);
void peakline_free(void* address, ptrdiff_t bytes, int device, void* stream);
}
