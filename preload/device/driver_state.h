// What driver_recording and driver_ends share: the table of what the driver has given.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/record/recorder.h"
#include "driver_blocks.h"
#include "preload/driver/driver_seam.h"

namespace peakline::preload {

struct Driver {
    record::LeafLock lock;
    DriverBlocks blocks;                                  // Guarded by lock.
    uint64_t primary_contexts[record::kMaxDevices] = {};  // Guarded by lock.
    bool is_ready = false;
    // relaxed: written before torch allocates.
    std::atomic<bool> makes_blocks{true};
};
extern Driver g_driver;

// Handles are small numbers: not one of an address.
inline uint64_t address_of_block(const DriverBlock& block) {
    constexpr uint64_t kHandleBit = uint64_t{1} << 62;
    return block.space == kPeaklineHandle ? block.key | kHandleBit : block.key;
}

}  // namespace peakline::preload
