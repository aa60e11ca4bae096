// Samples of the device's free memory and of the driver's pools. Taken after every synchronous
// request and free, and where the driver takes memory without a request. Never taken in a callback
// of the driver, nor for another thread's context.
//
// Note [Alone in the driver]
// While another thread is inside the driver, its request may be in the driver's numbers but not yet
// in the trace, or the reverse. So a sample counts only if no other thread was in the driver from
// its start until it was recorded. Requests are recorded under the same lock.
#pragma once

#include <cstdint>

#include "allocator/record/format/events.h"
#include "allocator/record/tables/leaf_lock.h"

namespace peakline::preload {

// Held while a request, a free or a sample is recorded.
record::LeafLock& driver_record_lock();

inline constexpr uint64_t kPhaseSampleNs = 10'000'000;

// Samples the device of this thread's context. kGrowth and kPhase samples are recorded only if the
// free memory changed.
void sample_device(format::SampleReason reason);
// Called when a context has ended: if no context is current, the next sample covers it.
void sample_after_context();
// Called where a phase of the program ends. Samples at most every kPhaseSampleNs, less often where
// queries are slow.
void sample_at_phase_end();
// Called after a request of this many bytes from a pool.
void sample_pool(uint64_t pool, uint32_t device, uint64_t bytes);
// From now on the memory of the device's graphs is sampled.
void watch_graphs(uint32_t device);
void forget_pool(uint64_t pool);

// For a trace that has just been opened.
void restate_samples();

}  // namespace peakline::preload
