// Growth, reuse and trimming of one memory pool.

#include "model/devices/pool.h"

#include <algorithm>

namespace simgpu {

CUresult MemoryPool::add_span(size_t bytes) {
    if (max_bytes != 0 && reserved_bytes_ + bytes > max_bytes) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    Placement span;
    if (const CUresult result = device_->place(bytes, &span); result != CUDA_SUCCESS) {
        return result;
    }
    spans_[span.start] = span.block_bytes;
    free_.give(span.start, span.block_bytes);
    reserved_bytes_ += span.block_bytes;
    reserved_high_bytes = std::max(reserved_high_bytes, reserved_bytes_);
    return CUDA_SUCCESS;
}

CUresult MemoryPool::allocate(size_t bytes, Placement* placement) {
    if (bytes > device_->capacity_bytes()) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    const size_t block_bytes = round_up(bytes, kSmallStepBytes);
    uintptr_t start = free_.take(block_bytes, kSmallStepBytes);
    if (start == 0) {
        CUresult result = add_span(round_up(block_bytes, kPoolSpanBytes));
        if (result != CUDA_SUCCESS) {
            trim(used_bytes_);
            result = add_span(round_up(block_bytes, kGranuleBytes));
        }
        if (result != CUDA_SUCCESS) {
            return result;
        }
        start = free_.take(block_bytes, kSmallStepBytes);
    }
    used_bytes_ += block_bytes;
    used_high_bytes = std::max(used_high_bytes, used_bytes_);
    *placement = {start, block_bytes, false};
    return CUDA_SUCCESS;
}

void MemoryPool::release(const Placement& placement) {
    free_.give(placement.start, placement.block_bytes);
    used_bytes_ -= placement.block_bytes;
}

void MemoryPool::trim(size_t keep_bytes) {
    for (auto span = spans_.begin(); span != spans_.end() && reserved_bytes_ > keep_bytes;) {
        const auto [start, bytes] = *span;
        if (!free_.take_exactly(start, bytes)) {
            ++span;
            continue;
        }
        device_->remove({start, bytes, false});
        reserved_bytes_ -= bytes;
        span = spans_.erase(span);
    }
}

}  // namespace simgpu
