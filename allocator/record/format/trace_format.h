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
//   * Bytes of a payload up to `committed` are final. The recorder stores `committed` after them,
//     with release order, so a program killed at any moment leaves a readable file.
//   * A definition is committed before the first event that names it.
//   * Deltas restart at every EVENTS chunk, so a chunk decodes alone. A DEFS chunk states its first
//     ids, so a lost one costs only its own definitions.
//   * payload_xxh3 is set when a chunk is sealed (full, or at a clean end), with kChunkSealed.
//   * A chunk with magic 0 was preallocated and never used: the trace ends before it. A clean end
//     cuts the file after the last committed byte of its last chunk.
//   * A file with kChunksRecycled reuses chunks when their content is no longer kept. The order of
//     EVENTS chunks is then that of first_event, and the stream begins at the oldest complete
//     checkpoint; see Note [Checkpoints].
//   * Readers accept their own major and every minor: they skip unknown types of definitions and
//     extended records by length, and refuse an unknown incompat flag.
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
// Devices below kMaxGpus have CUDA's numbers. Memory of the host is recorded as two more devices,
// separate in every report. A sum of devices is that of the GPUs: memory of the host takes nothing
// from them.
inline constexpr uint32_t kMaxGpus = 64;
inline constexpr uint32_t kPinnedDevice = kMaxGpus;   // page-locked, as the driver gives it
inline constexpr uint32_t kCpuDevice = kMaxGpus + 1;  // memory of torch's CPU allocator
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
    // A recording with a bounded file (keep the peak, keep the last bytes) regularly writes
    // everything that a reader needs to start there: peaks so far, phases, the live set, and the
    // list in Note [Standing records]. A checkpoint is a run of separate SUMMARY chunks: each
    // begins with kCheckpoint, the last one ends with kCheckpointEnd. A checkpoint without all of
    // its parts does not count. Events from its first event on follow in EVENTS chunks. Only a
    // complete checkpoint releases the chunks of older ones and of the events before it.
    kCheckpoint = 5,  // uv generation | uv part, from 0 | uv first event | uv next ordinal
                      // | uv tick | uv 1 while tracing
    // A block live at the checkpoint. Addresses are relative to the previous block, the first to 0.
    kBaselineBlock = 6,  // uv next ordinal - ordinal | uv context | uv device | uv stream
                         // | uv requested | zz(block - requested) | address | uv BaselineFlags
    // The views after it are of this phase; depth: the number of its open intervals.
    kPhase = 7,          // uv string | uv depth
    kCheckpointEnd = 8,  // uv generation
    kLimits = 9,         // uv how often a phase found no room in the table
    // Note [Totals]
    // A cleanly closed file with every event has counts of them, so that no reader has to read the
    // events to count them. They are valid if kTotals to kTotalsEnd are complete and no event
    // follows the last counted one.
    kTotals = 10,           // uv events | uv alloc records | by ExtendedType, from 1: uv records
    kClassTotals = 11,      // uv first class id | for it and each later one: uv alloc records
    kInlineTotals = 12,     // uv context | uv device | uv stream | uv inline alloc records
                            // | uv requested bytes of all of them | uv block bytes
    kInlineSizes = 13,      // uv Measure | kSizeSlots times, for bit widths from 0: uv inline alloc
                            // records with bytes of this width
    kPhaseNames = 14,       // uv string, repeated: the first kMaxPhaseNames in the order they began
    kTotalsEnd = 15,        // uv events
    kValueReads = 16,       // uv context | uv operators | uv flags | uv reads | uv bytes: of a
                            // simulated run, see ValueRead in format/events.h
    kLastOutOfMemory = 17,  // uv tick | the fields of OutOfMemory
    // Note [Views at the end]
    // If the totals are complete, the views before this record also cover every event: the first
    // report needs no event. Their levels are those at the end of main.
    kViewsEnd = 18,  // uv events | uv tick of the end of main, or of the last event
    // Note [Standing records]
    // A checkpoint also has the combined content of the rare records before it: as such records,
    // which have the same bodies and the same meaning before its first event, and as numbers that
    // no record expresses. They are valid only if kStandingEnd is there.
    kStanding = 19,  // uv ExtendedType | the body of that type
    // The sums of DriverSample and DeviceProcesses of a device, see
    // allocator/record/levels/device_use.h.
    kDeviceUse = 20,  // uv device | uv total bytes | zz sampled bytes | zz asked at sample
                      // | uv calls since sample | uv 0 or 1 + bytes of others
                      // | kStepCount times: zz bytes
    // A segment that came without a DriverAlloc.
    kUnseenSegment = 21,  // uv device | uv address | uv bytes
    kStandingEnd = 22,    // uv records of these three types
    // The outline of the run, added after its end by a reader of the events; the last one counts.
    kOutline = 23,  // uv version of its JSON | the JSON as a zstd frame
    // In a checkpoint: Note [Step history] in allocator/record/levels/step_history.h. It is valid
    // only if kStepHistoryEnd is there. A sample precedes the changes since the sample before it.
    kStepHistory = 24,     // uv SampleSource | uv steps that ended | uv steps per sample | uv 1: an
                           // optimizer that runs or comes next belongs to the last step; optional
    kStepSample = 25,      // uv tick | uv next ordinal | of all GPUs: uv level | uv peak since the
                           // sample before
    kLevelChange = 26,     // uv context | uv device | zz block bytes | zz requested | zz blocks
    kStepHistoryEnd = 27,  // uv samples
    // In a checkpoint: the last requests before it that a device refused, oldest first. They are
    // valid only if kRefusalsEnd is there.
    kRefused = 28,       // uv tick | the fields of OutOfMemory, then of Refusal | uv pool
                         // | of the device: uv live bytes | uv bytes of segments | uv bytes that
                         // other streams still use
    kRefusedGroup = 29,  // as kPeakGroup: live on that device at the refusal
    kRefusalsEnd = 30,   // uv all refused requests before the checkpoint, also those not kept
    // Lines of the program's files, added after its end; the last one counts.
    kSources = 31,  // uv version | as a zstd frame: see report/trace/writer/stored_sources.h
};
inline constexpr size_t kMostStepSamples = 256;
// The recorder takes a sample of a step history at the end of each of these.
enum class SampleSource : uint32_t { kParts = 0, kOptimizer = 1, kMarks = 2 };
inline constexpr size_t kSizeSlots = 52;
inline constexpr size_t kMaxPhaseNames = 1000;  // the number that reports list

enum BaselineFlags : uint32_t { kBlockDeferred = 1 };  // freed: no longer in `allocated`

enum class Measure : uint32_t { kAllocated = 0, kRequested = 1 };

}  // namespace peakline::format
