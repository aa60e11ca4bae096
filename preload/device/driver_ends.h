// Ends of what the driver has given: one by one, or all of a context or a device at once. Physical
// memory lives as long as a handle or a mapping of it.
#pragma once

#include <cstdint>

#include "driver_blocks.h"
#include "preload/driver/driver_seam.h"

namespace peakline::preload {

void on_free(const PeaklineDriverEvent& event);
// Whether the free in progress on this thread gives memory of a device back.
bool call_frees_memory();

// What stands at the same key: an address whose end was not seen ends now; importing what is known
// gives one more handle of it. True for such a handle.
bool is_known_handle(const DriverBlock& block);

void end_context(uint64_t context);
void end_device(uint32_t device);

}  // namespace peakline::preload
