// The settings to try, as the user wrote them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peakline::report {

struct WhatIfText {
    std::vector<std::string> settings;
    uint64_t device_bytes = 0;   // 0: that of the recorded device
    std::string empty_cache_at;  // a phase; empty: none
    bool searches = false;       // a set of settings, best first
    bool finds_smallest_device = false;
    bool is_unverified = false;  // predict even if the run was not reproduced
};

}  // namespace peakline::report
