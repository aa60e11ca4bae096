// One sentence each for growth that follows the inputs and for growth of reserved memory.
#include <cmath>

#include "leaks_report.h"
#include "report/render/format/format_bytes.h"

namespace peakline::report {

std::string inputs_sentence(const FollowedInputs& inputs) {
    const InputRise& rise = inputs.rise;
    const std::string batch =
        rise.batch > 1 ? " (" + format_count(rise.batch) + " in a batch)" : std::string();
    return rise.noun + " rose from " + format_count(rise.from_count) + " to " +
           format_count(rise.to_count) + " " + rise.unit +
           "s: " + format_bytes(std::lround(inputs.bytes_per_unit)) + " per " + rise.unit + batch;
}

std::string cause_sentence(const ReservedGrowth& growth) {
    switch (growth.cause) {
        case ReservedCause::kPools:
            return "cached in " + format_count(growth.rows.front().pools.size()) +
                   " private pools: nobody else gets their free memory; let CUDA graphs share one "
                   "pool (pool=), and drop those that are not replayed";
        case ReservedCause::kStreams:
            return "cached on " + format_count(growth.rows.front().streams.size()) +
                   " streams: a free block is reused only on the stream that it was made on; make "
                   "streams once and use them again";
        case ReservedCause::kFragments:
            break;
    }
    return "the free blocks were smaller than what was asked for; run with "
           "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or begin with the largest batch";
}

}  // namespace peakline::report
