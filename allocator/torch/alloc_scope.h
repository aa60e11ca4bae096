// Surrounds one call of an allocator that may report the block itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include <c10/cuda/CUDAFunctions.h>
#include <c10/util/Exception.h>

#include <cuda_runtime_api.h>

#include "torch_part.h"

namespace peakline::torch_part {

// Closes the scope on every exit: a failed allocation throws through it.
class AllocScope {
public:
    AllocScope(const Host& host, size_t bytes, uint64_t stream = kCurrentStream)
        : host_(host), bytes_(bytes), progress_(host.begin_alloc(bytes, stream)) {}
    ~AllocScope() {
        if (progress_ != nullptr) {
            *progress_ = kNoAlloc;
        }
    }
    AllocScope(const AllocScope&) = delete;
    AllocScope& operator=(const AllocScope&) = delete;

    // Runs the allocator's own function. If no observer has recorded a refusal, records it before
    // the stack unwinds further; the exception is unchanged.
    template <class Allocate>
    auto call(Allocate allocate) const {
        try {
            return allocate();
        } catch (const c10::OutOfMemoryError&) {
            if (progress_ != nullptr && *progress_ == kAllocBegun) {
                report_refusal();
            }
            throw;
        }
    }

    // False if the allocator did not report the block itself.
    bool end(void* address, int device, void* stream) const {
        if (progress_ == nullptr || *progress_ == kAllocReported || address == nullptr) {
            return true;
        }
        host_.unreported_alloc(address, device, stream);
        return false;
    }

private:
    void report_refusal() const {
        size_t free_bytes = 0;
        size_t limit_bytes = 0;
        cudaMemGetInfo(&free_bytes, &limit_bytes);
        host_.out_of_memory(c10::cuda::current_device(), bytes_, free_bytes, limit_bytes);
    }

    const Host& host_;
    size_t bytes_;
    uint32_t* progress_;
};

}  // namespace peakline::torch_part
