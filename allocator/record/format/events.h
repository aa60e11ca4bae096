// The EVENTS payload of the trace file, see trace_format.h for the notation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace peakline::format {

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
    // The program released the block, but another stream may still use it: it leaves `allocated`
    // now and `requested` (as torch counts it) at kFreeCompleted.
    kFreeDeferred = 1,   // back | uv context of the free; may be absent
    kFreeCompleted = 2,  // back
    // In recordings with contexts of frees (PEAKLINE_FREES).
    kFreeWithContext = 3,  // back | uv context of the free
    kMark = 4,
    kSegment = 5,
    kOutOfMemory = 6,
    kLoss = 7,
    kStopped = 9,
    kValueRead = 10,
    kScope = 11,
    kRefusal = 12,
    kAllocatorCall = 13,
    kAllocatorSettings = 14,
    kDeviceMemory = 15,
    kInPool = 16,
    // Note [Driver records]
    // Memory that the driver gave to torch's allocator, to libraries or to the program. They
    // include the memory behind segments of torch; readers join the two by address.
    kDriverAlloc = 17,
    kDriverFree = 18,
    kDriverSample = 19,
    kPoolSample = 20,
    kScopeCaller = 21,
    kMadeFor = 22,
    kDeviceProcesses = 23,
    kSharedMemory = 24,
    kSavedBlock = 25,  // in recordings with `run --saved`
};

enum class MarkKind : uint64_t {
    kTracingStarted = 1,
    kTracingStopped = 2,
    kPhaseBegin = 3,  // phases nest per thread
    kPhaseEnd = 4,
    kStep = 5,
    kNote = 6,
    kProcessEnd = 7,  // the recorder was closed cleanly
    // The program's main has ended: exit callbacks and the shutdown of the interpreter follow. The
    // first one counts; without one the end of the trace is the end of main.
    kMainEnd = 8,
    // This thread makes its first autograd node since the last run of the engine: its later
    // allocations are for a backward pass. In a trace without this mark, graphs have no known
    // begin.
    kGraphBegin = 9,
};
enum class SegmentAction : uint64_t { kAlloc = 1, kFree = 2, kMap = 3, kUnmap = 4 };
// Requests to torch's allocator other than for blocks.
enum class AllocatorAction : uint64_t {
    kPoolCreated = 1,   // or one more owner; value: 1 if its segments are not torch's own
    kPoolReleased = 2,  // by one owner
    kRoutingBegun = 3,  // requests of a thread or stream go to the pool
    kRoutingEnded = 4,
    kCaptureBegun = 5,  // of a graph: until its end no block may be reused late
    kCaptureEnded = 6,
    kCacheEmptied = 7,  // pool 0: the default one and all unused pools
    kRestoreBegun = 8,  // a graph's pool gets its old blocks back: none of them is requested
    kRestoreEnded = 9,
    kFractionSet = 10,  // value: bits of the double, the fraction of the device torch may use
    // value: 1: blocks of the pool may serve requests of the default one before memory runs out
    kServingSet = 11,
    kSplittingEnded = 12,  // its blocks are handed out whole
    kPoolOwned = 13,       // in checkpoints; value: number of owners, with routing begun
};
enum class MemoryMoment : uint64_t {
    kFirstSegment = 1,  // of the device; free_bytes: before it
    kAllocFailed = 2,   // the driver refused requested_bytes; torch may still succeed
    kMainEnded = 3,
};
enum class ScopeAction : uint64_t { kBegin = 1, kEnd = 2 };
enum ValueReadFlags : uint32_t {
    kReadsSize = 1,           // a count by an operator, read as 0: tensors get this size
    kReadAssumed = 2,         // the user gave the value
    kReadsFloatingPoint = 4,  // floating-point numbers: never the size of a tensor
};

// The extended records of plain numbers. A body is a uv for each member, in this order. Writer,
// reader and tests all use these structs, so only this file defines the order. Every member has 64
// bits.
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
// Follows an OutOfMemory: the other facts of the refusal.
struct Refusal {
    static constexpr ExtendedType kType = ExtendedType::kRefusal;
    uint64_t asked_bytes;  // by the program; requested_bytes is the request of its allocator
    uint64_t stream;
    uint64_t limit_bytes;  // size of the device, or the part that torch may use
};
// pool_number() computes the number of a pool from torch's MempoolId_t; 0: the default pool.
struct AllocatorCall {
    static constexpr ExtendedType kType = ExtendedType::kAllocatorCall;
    AllocatorAction action;
    uint64_t device;
    uint64_t pool;
    uint64_t value;
};
// The program changed torch's settings. The meta "allocator_settings" has those at the start.
struct AllocatorSettings {
    static constexpr ExtendedType kType = ExtendedType::kAllocatorSettings;
    uint64_t text;  // string
};
struct DeviceMemory {
    static constexpr ExtendedType kType = ExtendedType::kDeviceMemory;
    MemoryMoment moment;
    uint64_t device;
    uint64_t requested_bytes;  // of kAllocFailed, else 0
    uint64_t free_bytes;       // of the device
};
// Follows a Segment or a Refusal that belongs to this private pool, not to the default one.
struct InPool {
    static constexpr ExtendedType kType = ExtendedType::kInPool;
    uint64_t pool;
};
struct Loss {
    static constexpr ExtendedType kType = ExtendedType::kLoss;
    uint64_t records_dropped;
    uint64_t bytes_dropped;  // of blocks
};
// The recorder had to stop writing here (disk full, quota); the program continued.
struct Stopped {
    static constexpr ExtendedType kType = ExtendedType::kStopped;
    uint64_t error;  // errno
};
// Simulated devices only: the program read values that do not exist.
struct ValueRead {
    static constexpr ExtendedType kType = ExtendedType::kValueRead;
    uint64_t context;
    uint64_t bytes;
    uint64_t operators;  // string: the running ones, outermost first, joined by '>'
    uint64_t flags;      // ValueReadFlags
};
// A range that the program or torch names on one thread (torch.profiler.record_function,
// "Optimizer.step#AdamW.step"). They nest.
struct Scope {
    static constexpr ExtendedType kType = ExtendedType::kScope;
    ScopeAction action;
    uint64_t thread;
    uint64_t name;  // string
};

// The kind of a request to the driver. A free repeats the kind of its request.
enum class DriverKind : uint64_t {
    kDevice = 1,  // cuMemAlloc
    kPitch = 2,
    kArray = 3,
    kManaged = 4,       // resides where it was last touched
    kPinned = 5,        // of the host
    kRegistered = 6,    // of the host
    kAsync = 7,         // a part of a pool
    kPhysical = 8,      // cuMemCreate on a device; lives as long as its handle or a mapping
    kPhysicalHost = 9,  // the same on the host
    kMapping = 10,      // addresses of a physical handle
    kImported = 11,     // memory of another process, or of another API; its bytes count there
    kGraphNode = 12,    // a request of a captured stream; belongs to the launched graph
    kPool = 13,
    kMulticast = 14,
};
// Occupies memory of the device for its lifetime, in addition to other requests.
constexpr bool is_on_device(DriverKind kind) {
    return kind == DriverKind::kDevice || kind == DriverKind::kPitch ||
           kind == DriverKind::kArray || kind == DriverKind::kPhysical;
}
// Memory of the host that cannot be paged out: the blocks of kPinnedDevice.
constexpr bool is_page_locked(DriverKind kind) {
    return kind == DriverKind::kPinned || kind == DriverKind::kRegistered ||
           kind == DriverKind::kPhysicalHost;
}
enum DriverAllocFlags : uint32_t {
    // An allocation record with this address duplicates it: there is no torch in the process.
    kIsAlsoBlock = 1,
};
struct DriverAlloc {
    static constexpr ExtendedType kType = ExtendedType::kDriverAlloc;
    DriverKind kind;
    uint64_t flags;  // DriverAllocFlags
    uint64_t context;
    uint64_t device;
    uint64_t stream;
    uint64_t key;  // address or handle
    uint64_t bytes;
    uint64_t
        owner;  // handle: of kAsync the pool, of kMapping the physical memory, else the context
};
struct DriverFree {
    static constexpr ExtendedType kType = ExtendedType::kDriverFree;
    DriverKind kind;
    uint64_t key;
};
// The event on the device before the sample.
enum class SampleReason : uint64_t {
    kGrowth = 1,   // none was seen: found before the next call
    kRequest = 2,  // a DriverAlloc
    kFree = 3,
    kContext = 4,  // made or destroyed
    kModule = 5,   // loaded or unloaded
    kLimit = 6,    // cuCtxSetLimit
    kGraph = 7,    // instantiated or destroyed
    kTrim = 8,     // of a pool, or of the memory of graphs
    kEnd = 9,
    kPhase = 10,  // a phase or step of the program has ended
};
// The result of cuMemGetInfo: the whole device, all processes.
struct DriverSample {
    static constexpr ExtendedType kType = ExtendedType::kDriverSample;
    SampleReason reason;
    uint64_t device;
    uint64_t free_bytes;
    uint64_t total_bytes;
};
// Precedes the DriverSample of its moment.
struct PoolSample {
    static constexpr ExtendedType kType = ExtendedType::kPoolSample;
    uint64_t device;
    uint64_t pool;  // handle; 0: the memory of graphs
    uint64_t reserved_bytes;
    uint64_t used_bytes;
};
// Follows a DriverAlloc: the purpose of the request, from the requesting library.
struct MadeFor {
    static constexpr ExtendedType kType = ExtendedType::kMadeFor;
    uint64_t text;  // string: "communicator 1: rank 0 of 8"
};
// The processes that use a device, from NVML. Precedes the DriverSample of its moment.
struct DeviceProcesses {
    static constexpr ExtendedType kType = ExtendedType::kDeviceProcesses;
    uint64_t device;
    uint64_t own_bytes;  // 0: this process is not among them
    uint64_t other_bytes;
    uint64_t other_count;
};
// Processes share the memory of this live request (CUDA IPC and the like). kImported: another
// process owns it. Other kinds: this process owns it and gave a handle away.
struct SharedMemory {
    static constexpr ExtendedType kType = ExtendedType::kSharedMemory;
    DriverKind kind;
    uint64_t key;   // as in its DriverAlloc
    uint64_t name;  // string: a name of shared_names.h, and the same number in every process; 0:
                    // the memory has no such number
};
// Follows the Scope that begins a method of an optimizer: the call site in the program.
struct ScopeCaller {
    static constexpr ExtendedType kType = ExtendedType::kScopeCaller;
    uint64_t context;
};
// Autograd saves a block for the first time, for its backward pass.
struct SavedBlock {
    static constexpr ExtendedType kType = ExtendedType::kSavedBlock;
    uint64_t back;
    uint64_t context;  // of the operator that saves it
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
    // Every element is copied next. NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
    std::array<uint64_t, kFieldCount<Record>> own;
    std::copy_n(fields, own.size(), own.begin());
    return std::bit_cast<Record>(own);
}

template <class... Records>
struct RecordList {
    static constexpr size_t kMaxFields = std::max({kFieldCount<Records>...});
    static constexpr uint32_t kLastType = std::max({static_cast<uint32_t>(Records::kType)...});
    template <class Record>
    static constexpr bool kHas = (std::is_same_v<Record, Records> || ...);

    // Returns 0 for other types.
    static constexpr size_t field_count(ExtendedType type) {
        return ((Records::kType == type ? kFieldCount<Records> : 0) + ...);
    }
    // Calls visit(record) with the record of this type that has these fields. Does nothing for
    // another type. A visitor has an overload for each record, so it compiles only when it handles
    // all of them.
    template <class Visit>
    static void visit(ExtendedType type, const uint64_t* fields, Visit&& visit) {
        ((Records::kType == type ? visit(record_of<Records>(fields)) : void()), ...);
    }

private:
    static constexpr bool is_only_one(ExtendedType type) {
        return ((Records::kType == type ? 1 : 0) + ...) == 1;
    }
    static_assert((is_only_one(Records::kType) && ...), "two records have the same type");
    static_assert(((alignof(Records) == sizeof(uint64_t)) && ...), "every member has 64 bits");
};
// All of them. Recorder, reader and tests know a record by its row here: TraceWriter::put() and
// RareEvent::as() refuse one without.
using NumberRecords = RecordList<Mark,
                                 Segment,
                                 OutOfMemory,
                                 Refusal,
                                 Loss,
                                 Stopped,
                                 ValueRead,
                                 Scope,
                                 AllocatorCall,
                                 AllocatorSettings,
                                 DeviceMemory,
                                 InPool,
                                 DriverAlloc,
                                 DriverFree,
                                 DriverSample,
                                 PoolSample,
                                 ScopeCaller,
                                 MadeFor,
                                 DeviceProcesses,
                                 SharedMemory,
                                 SavedBlock>;
inline constexpr uint32_t kLastExtendedType = NumberRecords::kLastType;
static_assert(static_cast<uint32_t>(ExtendedType::kFreeWithContext) < kLastExtendedType);

// torch numbers pools of graphs and pools of the program separately: (n, 0) and (0, n).
constexpr uint64_t pool_number(uint64_t graph_pool, uint64_t own_pool) {
    return graph_pool != 0 ? graph_pool << 1 : own_pool == 0 ? 0 : own_pool << 1 | 1;
}

}  // namespace peakline::format
