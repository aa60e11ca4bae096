// The effect of a launch on the known contents of device memory.
//
// Note [Known contents]
// Kernels compute nothing, so the memory they would write becomes unknown. A launch forgets:
//
//   an operator of torch       nothing: the companion reports the operator's outputs and computes
//   (with the companion)       small ones
//   any kernel                 every upload, which reads as zero from then on: any kernel may have
//   (without the companion)    written it
//   an unreported kernel:      the blocks that its parameters point to. Only the first word of each
//   Triton's, an extension's,  parameter shows that: a pointer, or a structure that begins with one
//   a sparse operator's
//   work of a library          nothing more: the output of a matrix product is never known
//   a graph                    everything: the parameters of its kernels are not kept
//
// A collective still carries uploads that can no longer be read: programs launch kernels between
// filling a tensor with sizes and gathering it. Data from a collective can be read until it is
// overwritten or forgotten. A pointer refers to the rest of its block of torch's allocator, as
// reported by the companion. In other memory it refers to all known contents from there up to the
// first gap.
#pragma once

namespace simgpu {

// parameters: as for cuLaunchKernel, if the caller has them on its stack; null for the work of a
// library. Requires the world's lock.
void note_launch(void* const* parameters);

}  // namespace simgpu
