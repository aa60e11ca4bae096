// The causes of findings: a fixed list. docs/findings.md has an entry for each.
#pragma once

#include <cstdint>
#include <string_view>

namespace peakline::report {

// A line with a smaller part of the peak is not a large one: one part in this many.
inline constexpr uint64_t kLargeShareOfPeak = 10;

enum class CauseKind {
    kFault,  // once fixed, the program computes the same with less
    kTrade,  // less memory, for time, precision or an edit
    kFact,   // a large use that the other kinds do not explain
};

const char* cause_kind_name(CauseKind kind);
// `name` must be in the list.
CauseKind cause_kind(std::string_view name);
// Its blocks outlive their purpose: `leaks` reports these.
bool is_leak(std::string_view name);

}  // namespace peakline::report
