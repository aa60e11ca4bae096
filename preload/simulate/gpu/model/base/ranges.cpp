// Free ranges as an ordered map. CUDA allocations are few and large, so first fit is fast enough.

#include "model/base/ranges.h"

#include <iterator>

namespace simgpu {

uintptr_t FreeRanges::take(size_t bytes, size_t alignment) {
    for (const auto& [start, length] : ranges_) {
        const uintptr_t aligned = round_up(start, alignment);
        if (aligned + bytes <= start + length) {
            take_exactly(aligned, bytes);
            return aligned;
        }
    }
    return 0;
}

void FreeRanges::give(uintptr_t start, size_t bytes) {
    auto next = ranges_.lower_bound(start);
    if (next != ranges_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == start) {
            start = previous->first;
            bytes += previous->second;
            ranges_.erase(previous);
        }
    }
    if (next != ranges_.end() && next->first == start + bytes) {
        bytes += next->second;
        ranges_.erase(next);
    }
    ranges_[start] = bytes;
}

bool FreeRanges::contains(uintptr_t start, size_t bytes) const {
    auto after = ranges_.upper_bound(start);
    if (after == ranges_.begin()) {
        return false;
    }
    const auto range = std::prev(after);
    return start + bytes <= range->first + range->second;
}

bool FreeRanges::take_exactly(uintptr_t start, size_t bytes) {
    if (!contains(start, bytes)) {
        return false;
    }
    const auto range = std::prev(ranges_.upper_bound(start));
    const uintptr_t range_start = range->first;
    const uintptr_t range_end = range->first + range->second;
    ranges_.erase(range);
    if (start > range_start) {
        ranges_[range_start] = start - range_start;
    }
    if (start + bytes < range_end) {
        ranges_[start + bytes] = range_end - start - bytes;
    }
    return true;
}

}  // namespace simgpu
