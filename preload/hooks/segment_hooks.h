// Segments that the native allocator obtains from cudaMalloc and gives back to cudaFree, seen
// through the import table of libc10_cuda: without a trace tracker, which costs at every block.
// See Note [A tracker only where needed] in allocator/torch/install.cpp.
#pragma once

#include <cstdint>

#include "allocator/record/tables/mapped_array.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Redirects the two imports. Where there are none (a static runtime), a tracker is wanted.
void hook_segment_imports(const torch_part::Part& part);

// Id of a stream handle, or of the stream that is current on this thread (kCurrentStream).
uint32_t stream_of(const torch_part::Part& part, uint64_t handle, uint32_t device);

// The private pool of a request on such a stream; 0: the default one.
uint64_t pool_of(const torch_part::Part& part, uint64_t handle, uint32_t device);

// A segment that the tracker reported: expandable ones grow and shrink in place (kMap, kUnmap), and
// those of a pool with an allocator of its own do not come from torch's cudaMalloc.
void record_mapped_segment(
    uint32_t action, int device, void* stream, uint64_t address, uint64_t bytes);

// Pieces of an expandable segment have memory of their own before they are mapped together. Where
// one is refused, torch gives back those that it got for the same segment.
void add_unmapped_piece(uint32_t device, uint64_t bytes);
void record_refused_piece(uint32_t device, uint64_t bytes);

struct Segment {
    uint64_t address;
    uint64_t bytes;
    uint32_t stream;  // id
    uint32_t device;
    uint64_t pool;  // private one; 0: the default one
};

// How much memory the device has free now that main has ended.
void record_memory_at_main_end();

// The segments there are now; and their records, for a trace that is opened later than they were.
using LiveSegments = record::MappedArray<Segment>;
void copy_segments(LiveSegments* segments);
void record_segments(const LiveSegments& segments);

// Segments from before the hooks, once; not recorded, as no trace is open. One whose end came
// before this stays in the list.
void adopt_segments(const LiveSegments& segments);
// Of expandable segments, which are not listed.
void adopt_mapped_bytes(uint32_t device, uint64_t bytes);

// `reserved_bytes`: torch's own total, at a block. Where it is not that of the segments seen, some
// come from elsewhere and a tracker is wanted. A few nanoseconds; any lock may be held.
void check_reserved(uint32_t device, uint64_t reserved_bytes);
// True at most until the tracker was attached.
bool wants_tracker();
void tracker_is_attached();
bool has_tracker();

void prepare_fork_segments();
void parent_after_fork_segments();
void child_after_fork_segments();

}  // namespace peakline::preload
