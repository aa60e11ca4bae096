// The other refused requests, listed below the autopsy of one.
#pragma once

#include <cstdint>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/levels/refused_requests.h"

namespace peakline::report {

// Requests of one line.
struct RefusedLine {
    Label line;
    uint64_t count = 0;
    uint64_t last_number = 0;
};

// All requests except this number (from 1), by line, most requests first.
std::vector<RefusedLine> refused_lines_without(const RefusedRequests& refused,
                                               uint64_t shown,
                                               StackLookup& stacks);

}  // namespace peakline::report
