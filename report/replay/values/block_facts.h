// What happened to single blocks: when they were made and freed, and by whom. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace peakline::report {

inline constexpr uint64_t kNeverFreed = UINT64_MAX;

struct BlockFacts {
    uint64_t alloc_event = 0;
    uint64_t alloc_tick = 0;
    uint64_t address = 0;
    uint32_t track_thread = 0;  // the thread whose phases the allocation belongs to
    uint64_t free_event = kNeverFreed;
    uint64_t free_tick = 0;
    uint32_t free_context = 0;  // 0: not recorded
    // Freed while the operator that made it still ran, for certain: it allocated again after the
    // free, or a block that it had made before was still live, as its result is.
    bool within_operator = false;
    // Made before the events of a trace that keeps less than all: alloc_event is that of none.
    bool is_restored = false;
    std::optional<uint32_t> earlier_step;  // of a restored one; see Checkpoint::step_of()
};

}  // namespace peakline::report
