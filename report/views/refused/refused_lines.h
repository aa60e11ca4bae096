// What stands beside the autopsy of one request: the other requests, and who held the blocks then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autopsy.h"
#include "report/views/blocks/holders.h"

namespace peakline::report {

// Requests of one line.
struct RefusedLine {
    Label line;
    uint64_t count = 0;
    uint64_t last_number = 0;
};

// All but the request of this number (from 1), by line, most requests first.
std::vector<RefusedLine> refused_lines_without(const RefusedRequests& refused,
                                               uint64_t shown,
                                               StackLookup& stacks);

// What `run --hold` found when the last request was refused: it looks soon after, so the last
// search is that request's when no other one was refused since.
std::optional<HolderList> holders_of_request(const TraceReader& reader,
                                             const RefusedRequests& refused,
                                             const Autopsy& autopsy,
                                             StackLookup& stacks);

}  // namespace peakline::report
