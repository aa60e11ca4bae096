// Makes names safe to read. Every name in a text report goes through printable();
// pyhook/peakline/base/output.py has the same function for Python.
#pragma once

#include <string>
#include <string_view>

namespace peakline::report {

// Replaces each unsafe character by "?", see allocator/record/format/unsafe_text.h.
std::string printable(std::string_view text);

}  // namespace peakline::report
