// Names as text that people read. Every name in a report of text goes through printable();
// pyhook/peakline/base/output.py has the same function for Python.
#pragma once

#include <string>
#include <string_view>

namespace peakline::report {

// The text with "?" for each unsafe character, see allocator/record/format/unsafe_text.h.
std::string printable(std::string_view text);

}  // namespace peakline::report
