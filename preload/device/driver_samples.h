// What is free on the device, and what its pools hold, as the driver says at chosen moments: after
// every request and free that it serves at once, and where it takes memory that nobody asked for.
// Never from a callback of the driver, never for another thread's context.
//
// Note [Alone in the driver]
// A request of another thread that is being served is in what the driver says and not in the trace,
// or the other way round. So a sample counts only if nobody else was in the driver while it was
// taken, nor came in before it was recorded: requests are recorded under the same lock.
#pragma once

#include <cstdint>

#include "allocator/record/format/events.h"
#include "allocator/record/tables/leaf_lock.h"

namespace peakline::preload {

// Held while a request, a free or a sample is recorded.
record::LeafLock& driver_record_lock();

inline constexpr uint64_t kPhaseSampleNs = 10'000'000;

// Of the device of this thread's context. kGrowth is recorded only where something has changed.
void sample_device(format::SampleReason reason);
// When a context has ended: if none is current now, the next sample is about it.
void sample_after_context();
// Where a phase of the program ends: at most every kPhaseSampleNs, more rarely where asking is
// slow.
void sample_at_phase_end();
// After a request of so many bytes from a pool.
void sample_pool(uint64_t pool, uint32_t device, uint64_t bytes);
// Their memory is counted from now on.
void watch_graphs(uint32_t device);
void forget_pool(uint64_t pool);

// For a trace that has just been opened.
void restate_samples();

}  // namespace peakline::preload
