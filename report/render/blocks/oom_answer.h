// The first sentences of `oom`: what was asked, which limit refused it, and what would have been
// enough. Every one must hold for every program: see the rules above each.
#pragma once

#include <string>

#include "oom_report.h"

namespace peakline::report {

std::string oom_answer(const OomReport& report);

std::string oom_line(const OomReport& report, const Label& line);
// "1 piece", "2 pieces"
std::string counted(uint64_t count, const char* what);
// Free bytes of torch would have been enough, and could not be used: Autopsy::free_pieces() knows
// where they lie.
bool is_of_no_use(const Autopsy& autopsy);

}  // namespace peakline::report
