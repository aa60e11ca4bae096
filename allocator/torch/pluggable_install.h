// The pluggable backend: torch's own CUDAPluggableAllocator over our plain C functions, on top of
// the native allocator, cudaMallocAsync or cudaMalloc. For comparison and for programs that want
// exactly that interface; statistics of torch.cuda do not exist under it (torch's own limit).
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "torch_part.h"

namespace peakline::torch_part {

// Makes it current and returns it. Called before CUDA is initialised.
c10::cuda::CUDACachingAllocator::CUDAAllocator* install_pluggable(
    const Host& host, Backend backend, c10::cuda::CUDACachingAllocator::CUDAAllocator* native);

}  // namespace peakline::torch_part
