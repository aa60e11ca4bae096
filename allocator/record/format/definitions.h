// The DEFS payload of the trace file, see trace_format.h for the notation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>

#include "varint.h"

namespace peakline::format {

// record = uv DefType | uv length | body of that length. Ids count from 1 within a type in the
// order of the records; 0 means none. A stack is the id of its leaf node.
enum class DefType : uint32_t {
    kString = 1,       // str, UTF-8
    kPythonFrame = 2,  // PythonFrame
    kPythonNode = 3,   // StackNode
    kModule = 4,       // Module | str: build id bytes
    kNativeFrame = 5,  // NativeFrame
    kNativeNode = 6,   // StackNode
    kThread = 7,       // Thread
    kStream = 8,       // Stream; stream id 0 is the default stream
    kContext = 9,      // Context
    kClass = 10,       // uv context | uv device | uv stream | uv requested | zz(block - requested)
    kMeta = 11,        // uv key length | key | str: value. Has no id; the last one of a key counts
    // These carry their own ids: a chunk's first_ids do not.
    kInstance = 12,      // Instance
    kTensor = 13,        // uv tensor | Tensor
    kTensorBlocks = 14,  // repeated: zz(ordinal - the previous one, from 0) | uv tensor. The
                         // block of this allocation stores this tensor; the last one counts
    kHolderSearch = 15,  // HolderSearch
    kHolder = 16,        // Holder | str: the reference to the block, as a user would write it
    kTensorType = 17,    // uv tensor type | uv string: dtype | to the end: uv size of a dimension
    kBlockTypes = 18,    // as kTensorBlocks, with tensor types: see Note [Tensor types]
    kContextTag = 19,    // uv context | uv string: the program's name for its blocks; imports only
    kModuleInputs = 20,  // as kTensorBlocks, with instances: see Note [Inputs of modules]
};
inline constexpr size_t kMaxDimensions = 64;  // of a tensor whose type is kept

// Note [Tensor types]
// Shape and dtype belong to a tensor, not to its block: a block may be larger and hold other
// tensors too. They come from the tensor that gave the block its name (kTensorBlocks) or, on a
// simulated GPU, from the result of the operator that made it. The last one of a block counts; a
// block without a type was not seen.

// Note [Inputs of modules]
// The blocks that store the tensors among the arguments of a module's call, for the first call in
// which the module was seen. A block has one entry for each module that got it. Later calls have
// none: their inputs come from the same places in the stacks of their own pass. The results of a
// module are blocks that it made and that another module got.

enum ContextFlags : uint32_t {
    kUntraced = 1,           // allocated while tracing was off
    kStackTruncated = 2,     // deeper than the recorder keeps
    kStackUnrecorded = 4,    // the stack tables were full
    kBeforePython = 8,       // Python stacks could not be read yet
    kWithoutGradients = 16,  // gradients were off where the recorder first saw this stack
};
// The role of a block, found in the objects of the program. Names are those of named_parameters()
// and named_buffers(); gradient and state have the name of their parameter.
enum class TensorKind : uint32_t {
    kParameter = 1,
    kBuffer = 2,
    kGradient = 3,
    kOptimizerState = 4,  // detail: "AdamW.exp_avg"
};
inline constexpr uint32_t kLastTensorKind = 4;

// The definitions of plain numbers. A body is a uv for each of fields(), in this order; trailing
// zeros among the last kOptional are left out. Members are ids unless a comment differs, 0: none.
// They have no padding, because recorders compare them by their bytes.
struct PythonFrame {
    uint32_t file;
    uint32_t name;
    uint32_t qualified_name;
    uint32_t line;      // a number; 0: unknown
    uint32_t instance;  // the module that the running method belongs to
    static constexpr size_t kOptional = 1;
    static constexpr auto fields(auto& of) {
        return std::tie(of.file, of.name, of.qualified_name, of.line, of.instance);
    }
};
struct StackNode {
    uint32_t parent;  // node of the caller; 0 at the root
    uint32_t frame;
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) { return std::tie(of.parent, of.frame); }
};
// Addresses of one load of the module.
struct Module {
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
    uint32_t path;
    uint32_t build_id;  // not a field; its bytes follow
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) {
        return std::tie(of.start, of.end, of.load_bias, of.path);
    }
};
struct NativeFrame {
    uint64_t address;  // minus the module's load bias
    uint32_t module;
    uint32_t unused;  // not a field; 0
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) { return std::tie(of.module, of.address); }
};
struct Thread {
    uint32_t kernel_id;  // the kernel's number
    uint32_t name;
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) { return std::tie(of.kernel_id, of.name); }
};
struct Stream {
    uint64_t handle;  // CUDA's
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) { return std::tie(of.handle); }
};
// The origin of an allocation. A forward node means that the autograd engine ran a node then: it is
// the stack that created the node, and operator_name is the node's name. If a node was created
// while another one ran, its stack continues with the stack that created the other. No Python ran
// if there is no Python node.
struct Context {
    uint32_t thread;
    uint32_t python_node;
    uint32_t native_node;
    uint32_t forward_node;
    uint32_t operator_name;
    uint32_t flags;  // ContextFlags
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) {
        return std::tie(
            of.thread, of.python_node, of.native_node, of.forward_node, of.operator_name, of.flags);
    }
};
// A module of the program with methods in stacks. The last one of an id counts.
struct Instance {
    uint32_t instance;  // its own id
    uint32_t class_name;
    uint32_t root;  // class of the model it belongs to, with "#2" and so on for further models of
                    // this class; 0: not known (yet)
    uint32_t path;  // in that model, from named_modules(); 0: the model itself
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) {
        return std::tie(of.instance, of.class_name, of.root, of.path);
    }
};
struct Tensor {
    TensorKind kind;
    uint32_t name;
    uint32_t detail;
    uint32_t instance;  // the module that owns it
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) {
        return std::tie(of.kind, of.name, of.detail, of.instance);
    }
};

// Note [Holders]
// Only a search through the program's objects shows which of them keep a block alive, and only for
// its own moment. It is a definition, not an event, since a bounded file drops events. The
// definition describes the blocks in full, so that a report of a search needs no event. Holders
// follow their search. A block may have several, the best one first; if it has none, it was not
// found.
enum class HoldReason : uint32_t {
    kAsked = 1,  // peakline.holders()
    kStep = 2,   // run --hold STEP
    kSignal = 3,
    kOutOfMemory = 4,
    kEnd = 5,    // run --hold end: the program has ended
    kMain = 6,   // run --hold end: the function that ran most of the time is about to return
    kBatch = 7,  // --hold N in a program without optimizer steps: after N batches
    kMark = 8,   // --hold N without optimizer steps: after N steps marked by peakline.step()
};
enum HolderSearchFlags : uint32_t {
    kTimeIsUp = 1,        // some objects were not searched
    kTensorsUnknown = 2,  // no tensor can be read: the part compiled against torch is missing
    kFramesUnknown = 4,   // this Python does not allow reading local variables of running functions
};
// The last link of a holder's path. Each kind has a word in kHolderKindNames.
enum class HolderKind : uint32_t {
    kNone = 0,    // the block was not found among the objects of the program
    kGlobal = 1,  // of a module
    kLocal = 2,   // of a running function
    kClosure = 3,
    kDefault = 4,     // of an argument
    kClass = 5,       // an attribute of a class
    kException = 6,   // its traceback
    kThreadData = 7,  // threading.local
    kSuspended = 8,   // a variable of a generator or coroutine
    kGraph = 9,       // autograd's, of a tensor
    kCycle = 10,      // only the garbage collector frees it
    kOther = 11,      // something in C or C++
};
inline constexpr const char* kHolderKindNames[] = {
    "none",
    "global",
    "local",
    "closure",
    "default",
    "class",
    "exception",
    "thread",
    "suspended",
    "graph",
    "cycle",
    "other",
};
static_assert(std::size(kHolderKindNames) == static_cast<size_t>(HolderKind::kOther) + 1);
struct HolderSearch {
    uint32_t search;  // from 1
    uint64_t tick;
    HoldReason reason;
    uint32_t step;          // so far: optimizer steps, or the unit that the reason counts
    uint32_t block_count;   // blocks in the search
    uint64_t object_count;  // searched objects
    uint64_t duration_us;
    uint32_t flags;               // HolderSearchFlags
    uint64_t known_object_count;  // of kTimeIsUp: the approximate total; 0: not known
    static constexpr size_t kOptional = 1;
    static constexpr auto fields(auto& of) {
        return std::tie(of.search,
                        of.tick,
                        of.reason,
                        of.step,
                        of.block_count,
                        of.object_count,
                        of.duration_us,
                        of.flags,
                        of.known_object_count);
    }
};
struct Holder {
    uint32_t search;
    uint64_t ordinal;  // of the block's allocation
    uint64_t address;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    HolderKind kind;
    uint32_t more_count;  // of the first holder: further holders that are not written
    static constexpr size_t kOptional = 0;
    static constexpr auto fields(auto& of) {
        return std::tie(of.search,
                        of.ordinal,
                        of.address,
                        of.requested_bytes,
                        of.block_bytes,
                        of.context,
                        of.stream,
                        of.device,
                        of.kind,
                        of.more_count);
    }
};

// Key of kMeta: the sum of the blocks with kBeforePython. "waiting" while Python stacks cannot be
// read, then "BLOCKS BYTES". Absent if there are none.
inline constexpr char kLinesMissing[] = "lines_missing";
inline constexpr char kLinesMissingYet[] = "waiting";

// Writes a definition of plain numbers; returns the byte after it.
template <class Definition>
unsigned char* put_fields(unsigned char* out, const Definition& definition) {
    const auto values = std::apply(
        [](const auto&... fields) { return std::array{static_cast<uint64_t>(fields)...}; },
        Definition::fields(definition));
    size_t count = values.size();
    while (count > values.size() - Definition::kOptional && values[count - 1] == 0) {
        --count;
    }
    for (size_t i = 0; i < count; ++i) {
        out = put_uv(out, values[i]);
    }
    return out;
}

}  // namespace peakline::format
