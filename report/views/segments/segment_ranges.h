// The memory of torch's allocator on one device at a moment: its segments, event by event. An
// expandable segment is a range of address space with mapped parts: neighbouring parts of one
// stream are one segment, as in torch.cuda.memory_snapshot().
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "allocator/record/format/trace_format.h"

namespace peakline::report {

struct SegmentRange {
    uint64_t address = 0;
    uint64_t bytes = 0;
    uint32_t stream = 0;
    bool is_expandable = false;

    uint64_t end() const { return address + bytes; }
};

class SegmentRanges {
public:
    // `segment` must be of this device. In a damaged trace the newest record is right.
    void apply(const format::Segment& segment);
    // Sorted by address, without overlaps.
    std::vector<SegmentRange> now() const;

private:
    void cut(uint64_t begin, uint64_t end);

    std::map<uint64_t, SegmentRange> ranges_;  // by address
};

}  // namespace peakline::report
