#include "segment_ranges.h"

#include <algorithm>

#include "report/trace/definitions/definitions.h"

namespace peakline::report {

void SegmentRanges::apply(const format::Segment& segment) {
    // No hardware has so many bytes: damage.
    if (segment.bytes == 0 || segment.bytes > kMaxBlockBytes ||
        segment.address > UINT64_MAX - segment.bytes) {
        return;
    }
    const bool is_expandable = segment.action == format::SegmentAction::kMap;
    const bool grows = is_expandable || segment.action == format::SegmentAction::kAlloc;
    cut(segment.address, segment.address + segment.bytes);
    if (grows) {
        ranges_[segment.address] = {
            segment.address, segment.bytes, static_cast<uint32_t>(segment.stream), is_expandable};
    }
}

void SegmentRanges::cut(uint64_t begin, uint64_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end() > begin) {
        --at;
    }
    while (at != ranges_.end() && at->first < end) {
        const SegmentRange whole = at->second;
        at = ranges_.erase(at);
        if (whole.end() > end) {
            SegmentRange above = whole;
            above.address = end;
            above.bytes = whole.end() - end;
            at = ranges_.emplace(end, above).first;
        }
        if (whole.address < begin) {
            SegmentRange below = whole;
            below.bytes = begin - whole.address;
            ranges_.emplace(whole.address, below);
        }
    }
}

std::vector<SegmentRange> SegmentRanges::now() const {
    std::vector<SegmentRange> ranges;
    for (const auto& [address, range] : ranges_) {
        const bool goes_on = !ranges.empty() && ranges.back().is_expandable &&
                             range.is_expandable && ranges.back().end() == address &&
                             ranges.back().stream == range.stream;
        if (goes_on) {
            ranges.back().bytes += range.bytes;
        } else {
            ranges.push_back(range);
        }
    }
    return ranges;
}

}  // namespace peakline::report
