// State shared by driver_recording and driver_ends: the table of the driver's live allocations.
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

// A key for records of blocks. A physical handle is a small number, so it gets a bit that no
// address has. Registered host memory may hold a tensor of the CPU, so it gets another bit.
inline uint64_t address_of_block(const DriverBlock& block) {
    constexpr uint64_t kHandleBit = uint64_t{1} << 62;
    constexpr uint64_t kRegisteredBit = uint64_t{1} << 61;
    return block.space == kPeaklineHandle                           ? block.key | kHandleBit
           : block.driver_kind() == format::DriverKind::kRegistered ? block.key | kRegisteredBit
                                                                    : block.key;
}

// Page-locked memory always has one, on a device of its own: see Note [Memory of the host] in
// allocator/record/format/trace_format.h.
inline bool has_alloc_record(const DriverBlock& block) {
    return (block.flags & format::kIsAlsoBlock) != 0 || format::is_page_locked(block.driver_kind());
}

// Whether the block ends with the last of its handles.
inline bool has_handles(const DriverBlock& block) {
    return block.space == kPeaklineHandle || block.driver_kind() == format::DriverKind::kImported;
}

inline uint32_t device_of_block(const DriverBlock& block) {
    return format::is_page_locked(block.driver_kind()) ? format::kPinnedDevice : block.device;
}

}  // namespace peakline::preload
