// The record_function regions that are open, whether or not they are recorded: they are in every
// trace that opens, or goes on, within them. autograd_hooks.cpp begins and ends them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "early_regions.h"

namespace peakline::preload {

// By the id of its name. It ends on the thread that it began on, whoever ends it. From hooks:
// neither allocates nor waits.
void begin_region(uint32_t thread, uint32_t string);
void end_region(uint32_t thread, uint32_t string);

// See Note [Regions before the recording]. Once, while recording is switched on: returns those that
// are open, the oldest first; each must be kept or recorded before finish_early_regions().
inline constexpr size_t kMaxEarlyRegions = 64;
size_t take_early_regions(PeaklineEarlyRegion* regions);
void record_early_region(const PeaklineEarlyRegion& region, uint32_t own_thread);
void finish_early_regions();

// A trace was opened: what is open begins in it. `since` and `until` bound the begins, in ns of
// CLOCK_MONOTONIC: marks stand between them in the order of the program.
void restate_regions(uint64_t since_ns, uint64_t until_ns);
// Tracing goes on: what began without it begins now.
void record_missed_regions();

uint64_t monotonic_ns();

}  // namespace peakline::preload
