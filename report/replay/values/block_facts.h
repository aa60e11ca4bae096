// The life of single blocks: when they were made and freed, and by which context. Plain data.
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
    uint32_t track_thread = 0;  // the thread with the phases of the allocation
    uint64_t free_event = kNeverFreed;
    uint64_t free_tick = 0;
    uint32_t free_context = 0;  // 0: not recorded
    // When autograd first saved it for a backward pass, and in which operator. Context 0: it did
    // not, or that is not recorded.
    uint64_t saved_tick = 0;
    uint32_t saved_context = 0;
    // Whether the block was certainly freed while the operator that made it still ran: the operator
    // allocated again after the free, or an earlier block of it, such as its result, was still
    // live.
    bool within_operator = false;
    // Made before the first kept event: alloc_event is invalid.
    bool is_restored = false;
    std::optional<uint32_t> earlier_step;  // for a restored block; see Checkpoint::step_of()
};

}  // namespace peakline::report
