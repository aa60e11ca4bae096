// The first sentences of `oom`: the request, the limit that refused it, and the bytes that would
// have been enough. Each sentence must hold for every program: see the comment above its function.
#pragma once

#include <string>

#include "oom_report.h"

namespace peakline::report {

std::string oom_answer(const OomReport& report);

std::string oom_line(const OomReport& report, const Label& line);
// "1 piece", "2 pieces"
std::string counted(uint64_t count, const char* what);
// Whether torch had enough free bytes but could not use them; Autopsy::free_pieces() describes
// them.
bool is_of_no_use(const Autopsy& autopsy);

}  // namespace peakline::report
