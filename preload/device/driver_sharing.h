// Memory shared between processes: the records that name it. See format::SharedMemory.
#pragma once

#include <cstdint>

#include "driver_blocks.h"
#include "preload/driver/driver_seam.h"

namespace peakline::preload {

// For memory that was just opened: its bytes, and its name in all processes.
void describe_opened(uint64_t shared_number, DriverBlock* block);

// A handle of this process's memory was given away. Only the first one makes a record.
void on_exported(const PeaklineDriverEvent& event);

}  // namespace peakline::preload
