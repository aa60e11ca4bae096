// The C interface of libpeakline.so, called by the preloaded bootstrap and the Python extension
// module. Plain C types. Every function may be called while recording is off.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

extern "C" {

enum PeaklineWayIn : int32_t {
    kPeaklinePreload = 0,  // from the bootstrap: open a trace and start tracing
    // From Python: record, but trace only after a start.
    kPeaklineSwitchAllocator = 1,
    kPeaklinePluggable = 2,  // from peakline_malloc: the program chose the allocator
    // From the bootstrap, before torch: the driver made a context or allocated. Opens a trace.
    kPeaklineDriver = 3,
    // From the bootstrap, during the import of torch, with the GIL: records CPU tensors. Opens a
    // trace.
    kPeaklineCpu = 4,
};

enum PeaklineResult : int32_t {
    kPeaklineOk = 0,
    kPeaklineAlreadyOn = 1,
    kPeaklineLate = 2,  // only kPeaklineSwitchAllocator: call peakline_adopt() next
    kPeaklineFailed = 3,
};

// Installs the recorder. Without the GIL, stacks get Python lines once a thread holds it. `message`
// receives one line for the user when the result is not Ok, or "".
int32_t peakline_enter(int32_t way_in, char* message, size_t room);

// Finds and verifies the interpreter now. Call it with the GIL held, before an entry without the
// GIL: torch calls peakline_malloc without it.
void peakline_attach_python();

// After kPeaklineLate: reports the blocks and segments that torch's allocator already holds. Call
// it once; with none if CUDA is not initialised. Returns the bytes that are now untraced.
struct PeaklineHeldBlock {
    uint64_t address;  // 0: one entry for all blocks of the device
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
// Call the first with the GIL held. It returns 0 if recording is not on yet; call it again later.
int32_t peakline_begin_recorded_steps();
void peakline_end_recorded_steps();

// Returns 0 or an errno. replace: an existing file may be replaced.
int32_t peakline_open_trace(const char* path, int32_t replace);
// The path that a template gives in this process, see preload/options/trace_name.h. 0: no room.
int32_t peakline_expand_trace_name(const char* name_template, char* path, size_t room);
void peakline_close_trace();
int32_t peakline_has_trace();
// Path of the open trace, "" without one.
const char* peakline_trace_path();

// Acts like sigaction(SIGBUS, wanted, before) of the program while a trace is written. Returns
// false if only the program handles the signal. See allocator/record/files/page_guard.h.
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

// The accepted values of option "backend" or "stacks", the default first; nullptr after the last.
const char* peakline_option_word(const char* option, size_t index);
// The problem with a value of PEAKLINE_KEEP, to print after it; "" if it is valid.
const char* peakline_keep_problem(const char* text);

// The launcher's name for the job if this process is one of its ranks: "torchrun NAME"; else "".
const char* peakline_job_of_rank(void);
// See preload/life/build_cache.h: the folder for compiled libraries ("": none is usable), why
// earlier folders were rejected, and the problem with a path in it ("": none). The last function
// gives the name of the link to the part for torch.
struct PeaklineCacheFolder {
    char folder[3840];
    char refusal[4352];
};
void peakline_cache_folder(PeaklineCacheFolder* found);
void peakline_load_problem(const char* path, char* why, size_t room);
void peakline_torch_part_name(const char* version, const char* build, char* name, size_t room);

// Describes objects of the program: see pyhook/code/instances.h and
// pyhook/interpreter/safe_point.h. Call all of these with the GIL held. peakline_watch_methods
// replaces the watched methods; those beyond kPeaklineMaxWatched are ignored. The first one is the
// call of modules.
enum : size_t { kPeaklineMaxWatched = 8 };
void peakline_watch_methods(const uint64_t* codes, size_t count);
uint64_t peakline_own_instance();
// Names the object at this address; null: unknown name. Returns its id, 0 when there is no room.
uint32_t peakline_name_instance(uint64_t address,
                                const char* class_name,
                                const char* root,
                                const char* path);
// Whether a stack has shown the object at this address, or the object has a name.
int32_t peakline_knows_instance(uint64_t address);
// Objects that are recognised until they die: see pyhook/watched_objects.h.
int32_t peakline_learn_finalizer(uint64_t kind, uint64_t finalizer);
int32_t peakline_watch_class(uint64_t kind);
uint64_t peakline_watch_object(uint64_t address);
int32_t peakline_is_object_alive(uint64_t address, uint64_t number);
// kind: peakline::format::TensorKind. Returns the id of this tensor.
uint32_t peakline_define_tensor(uint32_t kind,
                                const char* name,
                                const char* detail,
                                uint32_t instance);
// Id of shape and dtype of a live tensor, given its object; 0: unknown.
uint32_t peakline_tensor_type(uint64_t object);
struct PeaklineReportedTensor {
    uint64_t address;  // of its storage
    uint32_t tensor;
    uint32_t type;  // of peakline_tensor_type, or 0
};
// Returns the number of addresses without a block.
size_t peakline_report_tensors(uint32_t kind, const PeaklineReportedTensor* tensors, size_t count);
// The blocks that store the arguments of a module. Addresses without a block are left out.
void peakline_report_inputs(uint32_t instance, const uint64_t* addresses, size_t count);
// Remembers parameters, for one report of all their gradients; nullptr if this is impossible here.
// Holds no reference to them.
struct PeaklineParameter {
    uint64_t tensor_impl;  // Tensor._cdata
    uint32_t gradient;     // id of peakline_define_tensor
};
struct PeaklineGradients;
struct PeaklineGradients* peakline_follow_gradients(const PeaklineParameter* parameters,
                                                    size_t count);
// Reports the present addresses of the gradients, like peakline_report_tensors. The caller must
// hold the parameters, and their TensorImpl must be unchanged. Returns false and reports nothing if
// several gradients share one storage.
int32_t peakline_report_gradients(struct PeaklineGradients* gradients);
void peakline_forget_gradients(struct PeaklineGradients* gradients);
void peakline_safe_point(uint32_t reason);

// The search for holders of blocks: see pyhook/holders/.
struct PeaklineLiveBlock {
    uint64_t address;
    uint64_t ordinal;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint16_t device;
    uint16_t tensor_kind;  // format::TensorKind; 0: not reported
};
// Copies up to `room` blocks; returns the number of live blocks.
size_t peakline_live_blocks(PeaklineLiveBlock* out, size_t room);
// The TensorImpl of a tensor object; 0 if it is unknown, or if the part compiled against torch is
// missing.
uint64_t peakline_tensor_of_object(uint64_t object);
// Addresses that the tensor with this TensorImpl holds; 0 for none. Returns false if the part
// compiled against torch is missing.
struct PeaklineTensorFacts {
    uint64_t storage;
    uint64_t gradient;  // a TensorImpl
    uint64_t node;      // of autograd
    int32_t is_on_device;
};
int32_t peakline_tensor_facts(uint64_t tensor_impl, PeaklineTensorFacts* facts);
// Facts about an autograd node, if peakline_tensor_facts() works: its next nodes; its saved
// tensors, by TensorImpl and storage; its Python object, or 0; its name.
using PeaklineVisitAddress = void (*)(uint64_t address, void* data);
using PeaklineVisitSaved = void (*)(uint64_t tensor_impl, uint64_t storage, void* data);
void peakline_visit_next_nodes(uint64_t node, PeaklineVisitAddress visit, void* data);
// Visits tensors in `bytes` of memory; 0: `memory` is a node.
void peakline_visit_saved(uint64_t memory, size_t bytes, PeaklineVisitSaved visit, void* data);
uint64_t peakline_python_object_of(uint64_t node);
void peakline_node_name(uint64_t node, char* out, size_t room);
// Fields have the values of format/definitions.h. Returns the number of the search, or 0 if it is
// not in a trace.
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
// Writes a fact about the run into the open trace; the last value of a key counts.
void peakline_put_meta(const char* key, const char* value);

// These use no descriptor of the program. A line for the user, see preload/options/messages.h; a
// line for `peakline run` (0: it does not listen); the beginning of a file (returns the bytes
// read).
void peakline_say(const char* text);
int32_t peakline_note(const char* what, const char* text);
size_t peakline_read_file(const char* path, void* bytes, size_t room);

// Peak or present level of a device in bytes; measure: 0 allocated, 1 requested.
uint64_t peakline_device_bytes(uint32_t device, uint32_t measure, int32_t peak);
// The highest level of all GPUs together since the last call, or since the trace was opened; 0
// without an open trace.
uint64_t peakline_take_peak_bytes();

// Simulated devices only: reports the results of the operator that ends now, live tensors given by
// TensorImpl. Only those with blocks made since peakline_block_count() was `first_block` are kept.
uint64_t peakline_block_count();
void peakline_report_made_tensors(uint64_t first_block, const uint64_t* tensor_impls, size_t count);

// Simulated devices only: the program read values that do not exist.
struct PeaklineValueRead {
    const char* operators;  // of this thread, outermost first, joined by '>'
    uint64_t bytes;
    int32_t is_size;            // the number of elements that an operator found
    int32_t is_computed;        // from zeros: it is not simply 0
    int32_t is_floating_point;  // the values are floating-point numbers
    // The result.
    int32_t is_assumed;   // the value comes from an assumption of the user
    int32_t is_fraction;  // a fraction of the elements searched; sizes only
    double value;
};
void peakline_value_read(PeaklineValueRead* read);
// "WHERE=VALUE", like --assume. Returns false if it does not parse, or if there are too many.
int32_t peakline_assume(const char* rule);
// Removes the last rule, if it is this one.
void peakline_assume_no_more(const char* rule);

// Marks the clean end of this process. The interposed _exit calls it with its own return address.
void peakline_end_of_process(const void* caller);

// torch.cuda.memory.CUDAPluggableAllocator(library, "peakline_malloc", "peakline_free"): the plain
// allocator interface over cudaMalloc. Throws std::runtime_error when the device is full: torch
// accepts no other error.
void* peakline_malloc(ptrdiff_t bytes, int device, void* stream);
void peakline_free(void* address, ptrdiff_t bytes, int device, void* stream);
}
