// The trace file: the only definition of its layout, with format/ for the payloads of events and
// definitions. The recorder writes it, report/trace reads it. Allocates nothing. All integers are
// little endian.
//
//   offset 0                 superblock, 4096 bytes
//   4096 + n * 262144        chunk n: header (128 bytes), then payload
//
//   +------------+-----------------+-----------------+-----------------+-- - -
//   | superblock | chunk 0  DEFS   | chunk 1  EVENTS | chunk 2  EVENTS | ...
//   +------------+-----------------+-----------------+-----------------+-- - -
//                 \ header | payload .... committed | not yet written /
//
// Invariants
//   * Bytes of a payload up to `committed` are final. `committed` is stored with release order
//     after them, so a program killed at any moment leaves a readable file.
//   * A definition is committed before the first event that names it.
//   * Deltas restart at every EVENTS chunk, so a chunk decodes alone. A DEFS chunk states the ids
//   it
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

#include <cstddef>
#include <cstdint>

#include "definitions.h"
#include "events.h"
#include "varint.h"

namespace peakline::format {

inline constexpr unsigned char kMagic[8] = {0x89, 'P', 'K', 'L', '\r', '\n', 0x1A, '\n'};
inline constexpr uint16_t kMajor = 1;
inline constexpr uint16_t kMinor = 0;
inline constexpr uint32_t kEndianMark = 0x01020304;
inline constexpr uint32_t kSuperblockBytes = 4096;
inline constexpr uint32_t kChunkBytes = 256 * 1024;
inline constexpr uint32_t kTickNs = 128;  // unit of every recorded time

// Note [Memory of the host]
// Devices below kMaxGpus have CUDA's numbers. Memory of the host is recorded as two more, of which
// each is a device of its own in every report. A sum of devices is that of the GPUs: what the host
// holds takes nothing from them.
inline constexpr uint32_t kMaxGpus = 64;
inline constexpr uint32_t kPinnedDevice = kMaxGpus;   // page-locked, as the driver gives it
inline constexpr uint32_t kCpuDevice = kMaxGpus + 1;  // of torch's CPU allocator
inline constexpr uint32_t kDeviceCount = kMaxGpus + 2;
constexpr bool is_of_host(uint32_t device) {
    return device == kPinnedDevice || device == kCpuDevice;
}

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
    uint64_t index;  // n, the position in the file
    // EVENTS only; in other chunks 0.
    uint64_t first_event;     // events in all earlier EVENTS chunks
    uint64_t first_ordinal;   // alloc records in all earlier EVENTS chunks
    uint64_t first_tick;      // time the first record's dt counts from
    uint64_t base_address;    // address the first alloc's delta counts from
    uint64_t live_bytes;      // allocated on all GPUs before the first record
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
    // time everything a reader needs to go on from there: peaks so far, phases, the live set, what
    // Note [Standing records] lists. A
    // checkpoint is a run of SUMMARY chunks of its own; each begins with kCheckpoint, the last
    // one ends with kCheckpointEnd. A checkpoint without all of its parts does not count. Events
    // from its first event on follow in EVENTS chunks. Only when a checkpoint is whole are the
    // chunks of older ones, and of the events before it, released.
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
    kValueReads = 16,    // uv context | uv operators | uv flags | uv reads | uv bytes: of a
                         // simulated run, see ValueRead in format/events.h
    kLastOutOfMemory = 17,  // uv tick | the fields of OutOfMemory
    // Note [Views at the end]
    // Where the totals are whole, the views before this record are those of every event, too: the
    // first screen needs no event. Their levels are those where main ended.
    kViewsEnd = 18,  // uv events | uv tick where main ended, or of the last event
    // Note [Standing records]
    // A checkpoint also has what the rare records before it have come to: as such records, which
    // have the same bodies and mean the same before its first event, and as numbers where records
    // cannot say it. They hold when kStandingEnd is there; without it nothing is known of them.
    kStanding = 19,  // uv ExtendedType | the body of that type
    // The sums of DriverSample and DeviceProcesses of a device, see
    // allocator/record/levels/device_use.h.
    kDeviceUse = 20,  // uv device | uv total bytes | zz sampled bytes | zz asked at sample
                      // | uv calls since sample | uv 0 or 1 + bytes of others
                      // | kStepCount times: zz bytes
    // A segment of which no DriverAlloc was seen when it came.
    kUnseenSegment = 21,  // uv device | uv address | uv bytes
    kStandingEnd = 22,    // uv records of these three types
    // The run in outline, put there by whoever read the events after the end; the last one counts.
    kOutline = 23,  // uv version of its JSON | the JSON as a zstd frame
    // In a checkpoint: Note [Step history] in allocator/record/levels/step_history.h. It holds when
    // kStepHistoryEnd is there. A sample comes before what changed since the one before it.
    kStepHistory = 24,     // uv SampleSource | uv steps that ended | uv steps per sample
    kStepSample = 25,      // uv tick | uv next ordinal | of all GPUs: uv level | uv peak since the
                           // sample before
    kLevelChange = 26,     // uv context | uv device | zz block bytes | zz requested | zz blocks
    kStepHistoryEnd = 27,  // uv samples
    // In a checkpoint: the last requests before it that a device refused, oldest first. They hold
    // when kRefusalsEnd is there.
    kRefused = 28,       // uv tick | the fields of OutOfMemory, then of Refusal | uv pool
                         // | of the device: uv live bytes | uv bytes of segments | uv bytes that
                         // other streams still use
    kRefusedGroup = 29,  // as kPeakGroup: live on that device then
    kRefusalsEnd = 30,   // uv refused requests before the checkpoint, kept here or not
};
inline constexpr size_t kMostStepSamples = 256;
// A sample of a step history is taken at the end of each of these.
enum class SampleSource : uint32_t { kParts = 0, kOptimizer = 1, kMarks = 2 };
inline constexpr size_t kSizeSlots = 52;
inline constexpr size_t kMaxPhaseNames = 1000;  // as many as reports list

enum BaselineFlags : uint32_t { kBlockDeferred = 1 };  // freed: no longer in `allocated`

enum class Measure : uint32_t { kAllocated = 0, kRequested = 1 };

}  // namespace peakline::format
