// Around one call of an allocator that may report the block itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "torch_part.h"

namespace peakline::torch_part {

// Closes the scope on every way out: a failed allocation throws through it.
class AllocScope {
public:
    AllocScope(const Host& host, size_t bytes, uint64_t stream = kCurrentStream)
        : host_(host), progress_(host.begin_alloc(bytes, stream)) {}
    ~AllocScope() {
        if (progress_ != nullptr) {
            *progress_ = kNoAlloc;
        }
    }
    AllocScope(const AllocScope&) = delete;
    AllocScope& operator=(const AllocScope&) = delete;

    // False when the allocator did not report the block itself.
    bool end(void* address, int device, void* stream) const {
        if (progress_ == nullptr || *progress_ == kAllocReported || address == nullptr) {
            return true;
        }
        host_.unreported_alloc(address, device, stream);
        return false;
    }

private:
    const Host& host_;
    uint32_t* progress_;
};

}  // namespace peakline::torch_part
