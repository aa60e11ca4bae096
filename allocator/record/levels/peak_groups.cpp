#include "peak_groups.h"

#include <algorithm>
#include <tuple>

namespace peakline::record {
namespace {

auto key_of(const BlockGroup& group) {
    return std::tie(group.context, group.requested_bytes, group.block_bytes, group.stream);
}

BlockGroup group_of(const LiveBlock& block) {
    return BlockGroup{block.requested_bytes, block.block_bytes, 1, block.context, block.stream};
}

void merge_equal(MappedArray<BlockGroup>& groups) {
    std::sort(groups.begin(), groups.end(), [](const BlockGroup& a, const BlockGroup& b) {
        return key_of(a) < key_of(b);
    });
    size_t kept = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
        if (kept > 0 && key_of(groups[kept - 1]) == key_of(groups[i])) {
            groups[kept - 1].count += groups[i].count;
        } else {
            groups[kept++] = groups[i];
        }
    }
    groups.resize_untouched(kept);
}

}  // namespace

bool gather_peak_groups(const PeakTracker& tracker,
                        const LiveSet& live_set,
                        ViewOf view,
                        MappedArray<BlockGroup>& groups) {
    if (!groups.reserve(live_set.size() + tracker.freed_since_peak().size() + 1)) {
        return false;
    }
    live_set.for_each([&](const LiveBlock& block) {
        if (view.counts(block) && tracker.was_live_at_peak(block.ordinal)) {
            groups.push(group_of(block));
        }
    });
    for (const LiveBlock& block : tracker.freed_since_peak()) {
        groups.push(group_of(block));
    }
    merge_equal(groups);
    return true;
}

bool gather_live_groups(const LiveSet& live_set, ViewOf view, MappedArray<BlockGroup>& groups) {
    if (!groups.reserve(live_set.size() + 1)) {
        return false;
    }
    live_set.for_each([&](const LiveBlock& block) {
        if (view.counts(block)) {
            groups.push(group_of(block));
        }
    });
    merge_equal(groups);
    return true;
}

void KeptGroups::update(const PeakTracker& tracker, const LiveSet& live_set, ViewOf view) {
    // Without its own peak the tracker has a restored one: these groups belong to it.
    if (tracker.has_peak() && (!is_valid || of_ordinal != tracker.peak_ordinal())) {
        is_valid = gather_peak_groups(tracker, live_set, view, groups);
        of_ordinal = tracker.peak_ordinal();
    }
}

}  // namespace peakline::record
