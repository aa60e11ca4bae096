// The open record_function regions, recorded or not. Every trace that opens or resumes inside them
// begins with them. autograd_hooks.cpp begins and ends them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "allocator/record/levels/step_history.h"
#include "early_regions.h"

namespace peakline::preload {

// Begins or ends the region with this id of its name. It ends on the thread on which it began, even
// if another thread ends it. Hooks call this: it neither allocates nor waits.
// `step`: see Recorder::record_scope().
void begin_region(uint32_t thread, uint32_t string, record::StepAction step);
void end_region(uint32_t thread, uint32_t string, record::StepAction step);

// See Note [Regions before the recording]. Call once, while recording is switched on. Returns the
// open regions, oldest first. Each must be kept or recorded before finish_early_regions().
inline constexpr size_t kMaxEarlyRegions = 64;
size_t take_early_regions(PeaklineEarlyRegion* regions);
void record_early_region(const PeaklineEarlyRegion& region, uint32_t own_thread);
void finish_early_regions();

// Call when a trace was opened: records the beginning of each open region. Only regions that began
// between `since_ns` and `until_ns` (CLOCK_MONOTONIC) are included, so that the caller can
// interleave marks in the program's order.
void restate_regions(uint64_t since_ns, uint64_t until_ns);
// Call when tracing resumes: records the beginning of regions that began meanwhile.
void record_missed_regions();

uint64_t monotonic_ns();

}  // namespace peakline::preload
