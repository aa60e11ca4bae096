// What torch's versions do differently. Data: which row holds for a trace is found by trying,
// newest first, as the same rule lived for different times in different branches of torch.
#pragma once

#include <span>

namespace peakline::report {

struct AllocatorRules {
    // Which of several free blocks of one size is taken.
    enum class Order { kOldestSegment, kLowestAddress };
    // When nothing is given back to the device before a request is refused.
    enum class NoRetry { kWhileCapturing, kWhileRouting };

    const char* name;
    Order order;
    NoRetry no_retry;
};

// Newest first.
std::span<const AllocatorRules> allocator_rules();

}  // namespace peakline::report
