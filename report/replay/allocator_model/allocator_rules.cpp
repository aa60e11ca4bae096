#include "allocator_rules.h"

namespace peakline::report {

std::span<const AllocatorRules> allocator_rules() {
    using enum AllocatorRules::Order;
    using enum AllocatorRules::NoRetry;
    static constexpr AllocatorRules kRules[] = {
        {"torch 2.15", kOldestSegment, kWhileCapturing},
        {"torch before 2.15, pools of the program may be emptied", kLowestAddress, kWhileCapturing},
        {"torch 2.6", kLowestAddress, kWhileRouting},
    };
    return kRules;
}

}  // namespace peakline::report
