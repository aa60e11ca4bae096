#include "torch_segments.h"

#include <algorithm>

namespace peakline::report {

const StateSegment* TorchSegments::find(uint64_t address) const {
    const auto after = std::upper_bound(
        segments_.begin(), segments_.end(), address, [](uint64_t at, const StateSegment& segment) {
            return at < segment.address;
        });
    return after != segments_.begin() && address < std::prev(after)->end() ? &*std::prev(after)
                                                                           : nullptr;
}

uint64_t TorchSegments::bytes() const {
    uint64_t sum = 0;
    for (const StateSegment& segment : segments_) {
        sum += segment.bytes;
    }
    return sum;
}

std::map<std::string, int64_t> TorchSegments::cached_bytes(
    const std::vector<TorchBlock>& blocks) const {
    std::map<std::string, int64_t> cached;
    for (const StateSegment& segment : segments_) {
        cached[segment_kind(segment)] += static_cast<int64_t>(segment.bytes);
    }
    for (const TorchBlock& block : blocks) {
        const StateSegment* const segment = block.is_waiting ? nullptr : find(block.address);
        if (segment != nullptr) {
            cached[segment_kind(*segment)] -= static_cast<int64_t>(block.bytes);
        }
    }
    return cached;
}

// Torch requests small blocks in segments, or units of them, of one size.
std::string segment_kind(const StateSegment& segment) {
    const uint64_t unit_bytes = segment.is_expandable ? segment.unit_bytes : segment.bytes;
    std::string kind = unit_bytes == kSmallSegmentBytes ? "small segments" : "large segments";
    if (segment.is_expandable) {
        kind += ", expandable";
    }
    if (segment.pool != 0) {
        // See format::pool_number().
        const std::string number = std::to_string(segment.pool >> 1U);
        const bool is_of_program = (segment.pool & 1U) != 0;
        kind += is_of_program ? " of the program's pool " + number : " of graph pool " + number;
    }
    return kind;
}

}  // namespace peakline::report
