// Formats numbers for people.
#pragma once

#include <cstdint>
#include <string>

namespace peakline::report {

// Four significant digits and a unit of 1024: "8.040 GB", "72.12 MB", "1.000 MB" for 1048575.
// Below 1 KB whole bytes: "512 B".
std::string format_bytes(int64_t bytes);
std::string format_bytes(uint64_t bytes);

// With commas: "1,204".
std::string format_count(uint64_t count);

// A share between 0 and 1 as "59.4".
std::string format_percent(double share);

// A share between 0 and 1 as "59.4 %".
std::string format_share(double share);

// "12.3 s"
std::string format_seconds(double seconds);

}  // namespace peakline::report
