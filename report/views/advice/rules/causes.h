// The causes that findings have: a fixed list. docs/findings.md has an entry for each.
#pragma once

#include <cstdint>
#include <string_view>

namespace peakline::report {

// A line that holds less of the peak is not a large one: one part in this many.
inline constexpr uint64_t kLargeShareOfPeak = 10;

enum class CauseKind {
    kFault,  // mended, the program computes the same in less
    kTrade,  // less memory, for time, precision or an edit
    kFact,   // what holds much, and is not explained by the others
};

const char* cause_kind_name(CauseKind kind);
// `name` is one of the list.
CauseKind cause_kind(std::string_view name);
// Its blocks outlive what they were made for: `leaks` says these.
bool is_leak(std::string_view name);

}  // namespace peakline::report
