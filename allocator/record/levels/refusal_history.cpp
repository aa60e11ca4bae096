#include "refusal_history.h"

namespace peakline::record {

void RefusalHistory::add(Refused refused, const LiveSet& live_set) {
    const auto device = static_cast<uint32_t>(refused.request.device);
    live_set.for_each([&](const LiveBlock& block) {
        if (block.device == device) {
            const bool is_waiting = (block.flags & kFreeRequested) != 0;
            (is_waiting ? refused.waiting_bytes : refused.live_bytes) += block.block_bytes;
        }
    });
    const size_t slot = static_cast<size_t>(count_++ % kMostKept);
    kept_[slot] = refused;
    MappedArray<BlockGroup>& groups = groups_[slot];
    if (!gather_live_groups(live_set, {device, format::Measure::kAllocated}, groups) ||
        groups.size() > kMostGroups) {
        groups.clear();
    }
}

}  // namespace peakline::record
