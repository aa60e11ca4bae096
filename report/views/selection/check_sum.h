// Checks for every view of live blocks that its parts sum to the level.
#pragma once

#include <cstdint>
#include <string>

#include "report/trace/file/trace_error.h"

namespace peakline::report {

// Throws TraceError when they do not, to the byte. `parts`: "rows".
inline void check_sum(const char* parts, uint64_t sum_bytes, uint64_t level_bytes) {
    if (sum_bytes != level_bytes) {
        throw TraceError(std::string("the ") + parts + " sum to " + std::to_string(sum_bytes) +
                         " bytes, the level is " + std::to_string(level_bytes) +
                         ": this is a defect of peakline; please report it with the trace");
    }
}

}  // namespace peakline::report
