// Ends of the driver's allocations: one at a time, or all of a context or device at once. Physical
// memory lives as long as it has a handle or a mapping.
#pragma once

#include <cstdint>

#include "driver_blocks.h"
#include "preload/driver/driver_seam.h"

namespace peakline::preload {

void on_free(const PeaklineDriverEvent& event);
// Whether the free in progress on this thread returns memory of a device.
bool call_frees_memory();

// Handles an earlier block with the same key. A missed end of an address is recorded now. Importing
// a known physical allocation adds a handle to it; only then returns true.
bool is_known_handle(const DriverBlock& block);

void end_context(uint64_t context);
void end_device(uint32_t device);

}  // namespace peakline::preload
