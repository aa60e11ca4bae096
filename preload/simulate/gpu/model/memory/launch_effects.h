// What a kernel's launch means for the known contents of device memory.
//
// Note [Known contents]
// Kernels compute nothing, and what they would have written is not known. Who runs, what is
// forgotten then, and why:
//
//   an operator of torch       nothing by its launches: the companion tells what the operator
//   (with the companion)       writes, and computes small ones
//   any kernel                 every upload reads as zero from then on: any kernel may have written
//   (without the companion)    it, and nobody tells
//   a kernel of which nobody   the blocks that its parameters point at, by the first word of each:
//   tells: Triton's, an        a pointer, or a structure that begins with one, is all that shows
//   extension's, a sparse      what it may write
//   operator's
//   work of a library          nothing more: where a product of matrices goes, nothing is known
//   a graph                    everything: what its kernels were given is not kept
//
// A collective still carries uploads that cannot be read any more: programs launch kernels between
// filling a tensor with sizes and gathering it. What a collective delivered can be read until it is
// overwritten or forgotten. A pointer means the rest of its block of torch's allocator, which the
// companion reports; of other memory it means all that is known from there on without a gap.
#pragma once

namespace simgpu {

// parameters: as cuLaunchKernel takes them, where the caller has them on its stack; null for the
// work of a library. The world's lock is held.
void note_launch(void* const* parameters);

}  // namespace simgpu
