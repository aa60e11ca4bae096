// Differences between torch's versions. Data: the row that fits a trace is found by trying, newest
// first, because branches of torch changed the same rule at different times.
#pragma once

#include <span>

namespace peakline::report {

struct AllocatorRules {
    // The choice among free blocks of equal size.
    enum class Order { kOldestSegment, kLowestAddress };
    // When torch refuses a request without releasing memory to the device first.
    enum class NoRetry { kWhileCapturing, kWhileRouting };

    const char* name;
    Order order;
    NoRetry no_retry;
};

// Newest first.
std::span<const AllocatorRules> allocator_rules();

}  // namespace peakline::report
