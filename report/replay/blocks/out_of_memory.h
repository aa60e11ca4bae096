// Converts a record of a refused request for reports.
#pragma once

#include <algorithm>

#include "report/replay/values/replay_result.h"
#include "report/trace/definitions/definitions.h"

namespace peakline::report {

// The result's context is always defined, even in a damaged trace.
inline OutOfMemory out_of_memory_at(uint64_t tick,
                                    const format::OutOfMemory& record,
                                    const Definitions& definitions) {
    const auto context = static_cast<uint32_t>(std::min<uint64_t>(record.context, UINT32_MAX));
    return {1,
            tick,
            definitions.known_context(context),
            static_cast<uint32_t>(record.device),
            record.requested_bytes,
            record.free_bytes};
}

}  // namespace peakline::report
