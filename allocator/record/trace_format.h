// The trace file: the only definition of its layout. The recorder writes it, report/trace reads it.
// Includes nothing of ours, allocates nothing. All integers are little endian.
//
//   offset 0                 superblock, 4096 bytes
//   4096 + n * 262144        chunk n: header (128 bytes), then payload
//
//   +------------+-----------------+-----------------+-----------------+-- - -
//   | superblock | chunk 0  DEFS   | chunk 1  EVENTS | chunk 2  EVENTS | ...
//   +------------+-----------------+-----------------+-----------------+-- - -
//                 \ header | payload .... committed | not yet written /
//
// What always holds
//   * Bytes of a payload up to `committed` are final. `committed` is stored with release order
//     after them, so a program killed at any moment leaves a readable file.
//   * A definition is committed before the first event that names it.
//   * Deltas restart at every EVENTS chunk, so a chunk decodes alone. A DEFS chunk tells the ids it
//     begins with, so a lost one costs its own definitions only.
//   * payload_xxh3 is set when a chunk is sealed (full, or at a clean end), with kChunkSealed.
//   * A chunk whose magic is 0 was preallocated and never used: the trace ends before it. A clean
//     end cuts the file behind the last committed byte of its last chunk.
//   * In a file with kChunksRecycled chunks are used again when what they held is no longer kept.
//     EVENTS chunks then stand in the order of first_event, and the stream begins at the oldest
//     whole checkpoint; see Note [Checkpoints].
//   * Readers accept their own major and every minor: unknown definition and extended record
//     types are skipped by length; an unknown incompat flag is refused.
//
// Notation: uv = unsigned LEB128 varint, zz = zigzag-coded uv, str = the rest of the record.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace peakline::format {

inline constexpr unsigned char kMagic[8] = {0x89, 'P', 'K', 'L', '\r', '\n', 0x1A, '\n'};
inline constexpr uint16_t kMajor = 1;
inline constexpr uint16_t kMinor = 0;
inline constexpr uint32_t kEndianMark = 0x01020304;
inline constexpr uint32_t kSuperblockBytes = 4096;
inline constexpr uint32_t kChunkBytes = 256 * 1024;
inline constexpr uint32_t kTickNs = 128;  // unit of every recorded time

// Superblock::incompat_flags.
inline constexpr uint64_t kChunksRecycled = 1;
inline constexpr uint64_t kKnownIncompatFlags = kChunksRecycled;

struct Superblock {
    unsigned char magic[8];
    uint16_t major;
    uint16_t minor;
    uint32_t endian_mark;
    uint64_t incompat_flags;
    uint64_t compat_flags;
    uint32_t chunk_bytes;
    uint32_t tick_ns;
    unsigned char file_uuid[16];
    unsigned char run_uuid[16];  // the same in every file of one `peakline run`; zero without one
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t start_monotonic_ns;  // tick 0
    uint64_t start_realtime_ns;   // the same moment, since the epoch
    uint64_t header_xxh3;         // XXH3-64 of the bytes before this field
};
static_assert(sizeof(Superblock) == 104);

inline constexpr uint32_t kChunkMagic = 0x48434B50;  // "PKCH"

enum class ChunkType : uint16_t { kDefs = 1, kEvents = 2, kSummary = 3 };

inline constexpr uint16_t kChunkSealed = 1;

struct ChunkHeader {
    uint32_t magic;
    uint16_t type;   // ChunkType
    uint16_t flags;  // kChunkSealed
    uint64_t index;  // n, the place in the file
    // EVENTS only; in other chunks 0.
    uint64_t first_event;     // events in all earlier EVENTS chunks
    uint64_t first_ordinal;   // alloc records in all earlier EVENTS chunks
    uint64_t first_tick;      // time the first record's dt counts from
    uint64_t base_address;    // address the first alloc's delta counts from
    uint64_t live_bytes;      // allocated on all devices before the first record
    uint64_t max_live_bytes;  // largest level reached in this chunk; final when sealed
    uint32_t committed;       // bytes of payload that are final (atomic, release)
    uint32_t event_count;     // records in this chunk; final when sealed
    uint64_t payload_xxh3;    // XXH3-64 of payload[0, committed); 0 until sealed. In DEFS chunks
                              // seeded with the XXH3-64 of first_ids: a wrong id is a wrong name
    // DEFS only; in other chunks 0. By DefType: the id of the first definition of this type in
    // this chunk or, when it has none, in a later one.
    uint32_t first_ids[12];
};
static_assert(sizeof(ChunkHeader) == 128);
inline constexpr uint32_t kPayloadBytes = kChunkBytes - sizeof(ChunkHeader);
inline constexpr uint32_t kDefTypeCount = sizeof(ChunkHeader::first_ids) / sizeof(uint32_t);

// ---- EVENTS payload ---------------------------------------------------------------------------
//
// record = tag | [uv dt] | body          tag = op << 6 | dt
//   dt      ticks since the previous record; 0..61 in the tag, 62: uv dt follows, 63: invalid
//   address uv; (zz((a - previous) >> 9) << 1) when the delta is a multiple of 512,
//           else (zz(a - previous) << 1 | 1); previous = last alloc's address in this chunk
//   back    uv; next ordinal minus the ordinal of the allocation meant, at least 1
// The n-th alloc record of the file (class or inline) has ordinal n, from 0.
enum class Op : uint8_t {
    kAllocClass = 0,   // uv class | address
    kAllocInline = 1,  // uv context | uv device | uv stream | uv requested | zz(block - requested)
                       // | address
    kFree = 2,         // back
    kExtended = 3,     // uv ExtendedType | uv length | body of that length
};
inline constexpr uint8_t kDtMax = 61;
inline constexpr uint8_t kDtFollows = 62;

enum class ExtendedType : uint32_t {
    // The program gave the block up, another stream may still use it: it leaves `allocated` now
    // and `requested` (as torch counts it) at kFreeCompleted.
    kFreeDeferred = 1,   // back | uv context of the free; may be absent
    kFreeCompleted = 2,  // back
    // Of recordings that ask where blocks are given up (PEAKLINE_FREES).
    kFreeWithContext = 3,  // back | uv context of the free
    kMark = 4,
    kSegment = 5,
    kOutOfMemory = 6,
    kLoss = 7,
    kStopped = 9,
    kValueRead = 10,
    kScope = 11,
};
inline constexpr uint32_t kLastExtendedType = 11;

enum class MarkKind : uint64_t {
    kTracingStarted = 1,
    kTracingStopped = 2,
    kPhaseBegin = 3,  // phases nest per thread
    kPhaseEnd = 4,
    kStep = 5,
    kNote = 6,
    kProcessEnd = 7,  // the recorder was closed cleanly
    // The program's main has ended: what follows are exit callbacks and the interpreter taking
    // itself apart. The first one counts; without one the end of the trace is the end of main.
    kMainEnd = 8,
    // This thread makes its first autograd node since the engine ran last: what it allocates from
    // here on is for a backward pass. A trace without any does not say where graphs begin.
    kGraphBegin = 9,
};
enum class SegmentAction : uint64_t { kAlloc = 1, kFree = 2, kMap = 3, kUnmap = 4 };
enum class ScopeAction : uint64_t { kBegin = 1, kEnd = 2 };
enum ValueReadFlags : uint32_t {
    kReadsSize = 1,           // how much an operator found: tensors are made of this size
    kReadAssumed = 2,         // the user said what it is
    kReadsFloatingPoint = 4,  // floating-point numbers: no tensor is made of such a size
};

// The extended records of plain numbers. A body is a uv for each member, in this order; writer,
// reader and tests use these structs, so this is the only place that knows it. Every member has 64
// bits, whatever it holds.
struct Mark {
    static constexpr ExtendedType kType = ExtendedType::kMark;
    MarkKind kind;
    uint64_t thread;
    uint64_t text;  // string: name of a phase or step, text of a note; may be 0
};
struct Segment {
    static constexpr ExtendedType kType = ExtendedType::kSegment;
    SegmentAction action;
    uint64_t device;
    uint64_t stream;
    uint64_t address;
    uint64_t bytes;
};
struct OutOfMemory {
    static constexpr ExtendedType kType = ExtendedType::kOutOfMemory;
    uint64_t context;
    uint64_t device;
    uint64_t requested_bytes;
    uint64_t free_bytes;  // of the device
};
struct Loss {
    static constexpr ExtendedType kType = ExtendedType::kLoss;
    uint64_t records_dropped;
    uint64_t bytes_dropped;  // of blocks
};
// The recorder could not go on writing here (disk full, quota); the program went on.
struct Stopped {
    static constexpr ExtendedType kType = ExtendedType::kStopped;
    uint64_t error;  // errno
};
// Simulated devices only: the program read values that do not exist.
struct ValueRead {
    static constexpr ExtendedType kType = ExtendedType::kValueRead;
    uint64_t context;
    uint64_t bytes;
    uint64_t operators;  // string: those that run, outermost first, joined by '>'
    uint64_t flags;      // ValueReadFlags
};
// A range the program or torch names on one thread (torch.profiler.record_function,
// "Optimizer.step#AdamW.step"). They nest.
struct Scope {
    static constexpr ExtendedType kType = ExtendedType::kScope;
    ScopeAction action;
    uint64_t thread;
    uint64_t name;  // string
};

template <class Record>
inline constexpr size_t kFieldCount = sizeof(Record) / sizeof(uint64_t);

template <class Record>
constexpr auto fields_of(const Record& record) {
    return std::bit_cast<std::array<uint64_t, kFieldCount<Record>>>(record);
}

// `fields` has at least kFieldCount<Record> elements.
template <class Record>
Record record_of(const uint64_t* fields) {
    std::array<uint64_t, kFieldCount<Record>> own;
    std::copy_n(fields, own.size(), own.begin());
    return std::bit_cast<Record>(own);
}

template <class... Records>
struct RecordList {
    static constexpr size_t kMaxFields = std::max({kFieldCount<Records>...});
    // 0: of another type.
    static constexpr size_t field_count(ExtendedType type) {
        return ((Records::kType == type ? kFieldCount<Records> : 0) + ...);
    }
};
using NumberRecords = RecordList<Mark, Segment, OutOfMemory, Loss, Stopped, ValueRead, Scope>;

// ---- DEFS payload -----------------------------------------------------------------------------
//
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
    kMeta = 11,        // uv key length | key | str: value. Has no id; the last of a key counts
    // These tell their ids themselves: a chunk's first_ids do not.
    kInstance = 12,      // Instance
    kTensor = 13,        // uv tensor | Tensor
    kTensorBlocks = 14,  // repeated: zz(ordinal - the one before, from 0) | uv tensor. The block
                         // of this allocation is the storage of this tensor; the last one counts
};
inline constexpr uint32_t kLastDefType = 14;

enum ContextFlags : uint32_t {
    kUntraced = 1,         // allocated while tracing was off
    kStackTruncated = 2,   // deeper than the recorder keeps
    kStackUnrecorded = 4,  // the stack tables were full
    kBeforePython = 8,     // Python stacks could not be read yet
};
// What the objects of the program say a block is. Names are those of named_parameters() and
// named_buffers(); gradient and state have the name of their parameter.
enum class TensorKind : uint32_t {
    kParameter = 1,
    kBuffer = 2,
    kGradient = 3,
    kOptimizerState = 4,  // detail: "AdamW.exp_avg"
};
inline constexpr uint32_t kLastTensorKind = 4;

// The definitions of plain numbers. A body is a uv for each of fields(), in this order; the last
// kOptional of them are left out from the end while they are 0. Members are ids where not said
// otherwise, 0: none. No padding: recorders compare them by their bytes.
struct PythonFrame {
    uint32_t file;
    uint32_t name;
    uint32_t qualified_name;
    uint32_t line;      // a number; 0: unknown
    uint32_t instance;  // the module whose method runs
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
// Addresses of one loading.
struct Module {
    uint64_t start;
    uint64_t end;
    uint64_t load_bias;
    uint32_t path;
    uint32_t build_id;  // not a field: its bytes follow
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
// Where and under what an allocation was made. With a forward node it was made while the autograd
// engine ran a node: the forward node is the stack that created the node, the operator its name.
// The stack of a node that was created while another ran goes on with the stack that created that
// one. Without Python node no Python ran.
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
// A module of the program whose methods stand in stacks. The last one of an id counts.
struct Instance {
    uint32_t instance;  // its own id
    uint32_t class_name;
    uint32_t root;  // class of the model it belongs to, "#2" and so on for more of them; 0: not
                    // known (yet)
    uint32_t path;  // in that model, as named_modules() has it; 0: the model itself
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

// Key of kMeta: what has kBeforePython. "waiting" as long as Python stacks cannot be read, then
// "BLOCKS BYTES". Absent: nothing.
inline constexpr char kLinesMissing[] = "lines_missing";
inline constexpr char kLinesMissingYet[] = "waiting";

// ---- SUMMARY payload --------------------------------------------------------------------------
//
// record = uv SummaryType | uv length | body. A trace without EVENTS (report_stats()) answers from
// here. Groups belong to the View record before them.
enum class SummaryType : uint32_t {
    kView = 1,       // uv device | uv Measure | uv peak bytes | uv peak tick | uv level now
                     // | uv total allocated bytes in traced ranges | uv allocs | uv frees
    kPeakGroup = 2,  // uv context | uv requested | uv block | uv count: blocks live at the peak
                     // | uv stream
    kLiveGroup = 3,  // the same, live now
    kTrouble = 4,    // uv records dropped | uv bytes dropped
    // Note [Checkpoints]
    // A recording with a bounded file (keep the peak, keep the last bytes) writes from time to
    // time everything a reader needs to go on from there: peaks so far, phases, the live set. A
    // checkpoint is a run of SUMMARY chunks of its own; each begins with kCheckpoint, the last
    // one ends with kCheckpointEnd. A checkpoint without all of its parts does not count. Events
    // from its first event on follow in EVENTS chunks. Only when a checkpoint is whole are the
    // chunks of older ones, and of the events before it, given up.
    kCheckpoint = 5,  // uv generation | uv part, from 0 | uv first event | uv next ordinal
                      // | uv tick | uv 1 while tracing
    // A block live at the checkpoint. Addresses count from the block before, at first from 0.
    kBaselineBlock = 6,  // uv next ordinal - ordinal | uv context | uv device | uv stream
                         // | uv requested | zz(block - requested) | address | uv BaselineFlags
    // The views after it are of this phase; depth: how often it is open now.
    kPhase = 7,          // uv string | uv depth
    kCheckpointEnd = 8,  // uv generation
    kLimits = 9,         // uv times a phase found no room among those kept
    // Note [Totals]
    // A file with every event has counts of them when it is closed cleanly, so that nobody need
    // read the events to count them. They hold when kTotals to kTotalsEnd are whole and no event
    // follows the last one they count.
    kTotals = 10,        // uv events | uv alloc records | by ExtendedType, from 1: uv records
    kClassTotals = 11,   // uv first class id | of this one and those after it: uv alloc records
    kInlineTotals = 12,  // uv context | uv device | uv stream | uv inline alloc records
                         // | uv requested bytes of all of them | uv block bytes
    kInlineSizes = 13,   // uv Measure | kSizeSlots times: uv inline alloc records whose bytes have
                         // this many bits, from 0
    kPhaseNames = 14,    // uv string, repeated: the first kMaxPhaseNames in the order they began
    kTotalsEnd = 15,     // uv events
};
inline constexpr size_t kSizeSlots = 52;
inline constexpr size_t kMaxPhaseNames = 1000;  // as many as reports list

enum BaselineFlags : uint32_t { kBlockDeferred = 1 };  // given up: no longer in `allocated`

enum class Measure : uint32_t { kAllocated = 0, kRequested = 1 };

// ---- varints ----------------------------------------------------------------------------------

inline constexpr size_t kMaxVarintBytes = 10;

inline unsigned char* put_uv(unsigned char* out, uint64_t value) {
    while (value >= 0x80) {
        *out++ = static_cast<unsigned char>(value | 0x80);
        value >>= 7;
    }
    *out++ = static_cast<unsigned char>(value);
    return out;
}

constexpr uint64_t zigzag(int64_t value) {
    return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}

constexpr int64_t unzigzag(uint64_t value) {
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Returns the byte after the varint, or nullptr when it does not end before `end` or is longer
// than 64 bits.
inline const unsigned char* get_uv(const unsigned char* in,
                                   const unsigned char* end,
                                   uint64_t* value) {
    uint64_t result = 0;
    for (unsigned shift = 0; in < end && shift < 64; shift += 7) {
        const unsigned char byte = *in++;
        if (shift == 63 && byte > 1) {
            return nullptr;
        }
        result |= static_cast<uint64_t>(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = result;
            return in;
        }
    }
    return nullptr;
}

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

// The address field of alloc records, see above.
inline unsigned char* put_address(unsigned char* out, uint64_t address, uint64_t previous) {
    const int64_t delta = static_cast<int64_t>(address - previous);
    if ((delta & 511) == 0) {
        return put_uv(out, zigzag(delta >> 9) << 1);
    }
    return put_uv(out, zigzag(delta) << 1 | 1);
}

constexpr uint64_t apply_address(uint64_t coded, uint64_t previous) {
    const int64_t value = unzigzag(coded >> 1);
    // Unsigned: a damaged delta wraps around instead of being undefined.
    return previous + static_cast<uint64_t>(value) * ((coded & 1) != 0 ? 1 : 512);
}

}  // namespace peakline::format
