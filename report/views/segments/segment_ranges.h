// The memory that torch's allocator holds of one device at a moment: segments as they come and go.
// An expandable segment is a range of address space of which parts are mapped: neighbouring parts
// of one stream are one segment, as torch.cuda.memory_snapshot() has them.
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
    // Of this device. A damaged trace may say anything: the newest record is right.
    void apply(const format::Segment& segment);
    // By address, none above another.
    std::vector<SegmentRange> now() const;

private:
    void cut(uint64_t begin, uint64_t end);

    std::map<uint64_t, SegmentRange> ranges_;  // by address
};

}  // namespace peakline::report
