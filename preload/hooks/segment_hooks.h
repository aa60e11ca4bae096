// Records segments that the native allocator gets from cudaMalloc and returns to cudaFree, through
// the import table of libc10_cuda. A trace tracker would cost time at every block. See Note [A
// tracker only where needed] in allocator/torch/install.cpp.
#pragma once

#include <cstdint>

#include "allocator/record/tables/mapped_array.h"
#include "allocator/torch/torch_part.h"

namespace peakline::preload {

// Redirects the two imports. If they are missing (a static runtime), wants_tracker() becomes true.
void hook_segment_imports(const torch_part::Part& part);

// Id of a stream handle, or of the stream that is current on this thread (kCurrentStream).
uint32_t stream_of(const torch_part::Part& part, uint64_t handle, uint32_t device);

// The private pool for requests on this stream; 0: the default pool.
uint64_t pool_of(const torch_part::Part& part, uint64_t handle, uint32_t device);

// Records a segment that the tracker reported. Expandable segments grow and shrink (kMap,
// kUnmap). Segments of a pool with its own allocator do not come from torch's cudaMalloc.
void record_mapped_segment(
    uint32_t action, int device, void* stream, uint64_t address, uint64_t bytes);

// Each piece of an expandable segment has memory before the pieces are mapped together. If one is
// refused, torch returns the pieces it already got for that segment.
void add_unmapped_piece(uint32_t device, uint64_t bytes);
void record_refused_piece(uint32_t device, uint64_t bytes);

struct Segment {
    uint64_t address;
    uint64_t bytes;
    uint32_t stream;  // id
    uint32_t device;
    uint64_t pool;  // private one; 0: the default one
};

// Records the device's free memory at the end of main.
void record_memory_at_main_end();

// Copies the live segments, and records them in a trace that opened after them.
using LiveSegments = record::MappedArray<Segment>;
void copy_segments(LiveSegments* segments);
void record_segments(const LiveSegments& segments);

// Adds segments from before the hooks. Call once. They are not recorded, because no trace is open.
// A segment freed before this call stays in the list.
void adopt_segments(const LiveSegments& segments);
// Adds bytes of expandable segments, which are not listed.
void adopt_mapped_bytes(uint32_t device, uint64_t bytes);

// Called at a block with torch's own total `reserved_bytes`. If it differs from the sum of the
// known segments, some come from elsewhere and wants_tracker() becomes true. Takes a few
// nanoseconds. Callers may hold any lock.
void check_reserved(uint32_t device, uint64_t reserved_bytes);
// True at most until the tracker is attached.
bool wants_tracker();
void tracker_is_attached();
bool has_tracker();

void prepare_fork_segments();
void parent_after_fork_segments();
void child_after_fork_segments();

}  // namespace peakline::preload
