// Torch's segments at a moment, for the ledger: finds the segment of an address, and the free bytes
// of each kind.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/views/segments/allocator_state.h"

namespace peakline::report {

struct TorchBlock {
    uint64_t address = 0;
    uint64_t bytes = 0;
    bool is_waiting = false;  // freed, but another stream may still use it
};

class TorchSegments {
public:
    TorchSegments() = default;
    // `segments` are sorted by address.
    explicit TorchSegments(std::vector<StateSegment> segments) : segments_(std::move(segments)) {}

    const std::vector<StateSegment>& all() const { return segments_; }
    // The segment that contains the address; nullptr: none.
    const StateSegment* find(uint64_t address) const;
    uint64_t bytes() const;
    // Bytes outside of live blocks, by the name of the kind: small or large, expandable, the pool.
    // Ignores blocks outside of all segments.
    std::map<std::string, int64_t> cached_bytes(const std::vector<TorchBlock>& blocks) const;

private:
    std::vector<StateSegment> segments_;
};

// "large segments", "small segments, expandable", "large segments of graph pool 1".
std::string segment_kind(const StateSegment& segment);

}  // namespace peakline::report
