// The private pool of each request: torch gets a filter of streams for each routing, and the same
// filters decide here, when a segment or a refused request is recorded. Also records new settings
// of the allocator.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>

#include "allocator/record/format/trace_format.h"
#include "torch_part.h"

namespace peakline::torch_part {

inline uint64_t number_of(const c10::MempoolId_t& pool) {
    return format::pool_number(pool.first, pool.second);
}
inline uint64_t bits_of(double value) {
    return std::bit_cast<uint64_t>(value);
}

void begin_routing(int device,
                   const c10::MempoolId_t& pool,
                   const std::function<bool(cudaStream_t)>& filter);
void end_routing(int device, const c10::MempoolId_t& pool);

// Records a new pool. Returns 1 if its segments come from its own allocator: only a tracker sees
// those, so this attaches it.
uint64_t note_pool(const c10::MempoolId_t& pool, bool has_own_allocator);
bool has_own_allocator(const c10::MempoolId_t& pool);

// Part::pool_of_request and Part::settings.
void offer_routing(const Host& host, Part* part);

}  // namespace peakline::torch_part
