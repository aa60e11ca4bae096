// Keeps libunwind away from the program's descriptors. See libunwind_calls.cpp.
#pragma once

namespace peakline::capture {

// Before libunwind is used. For our own copy of it (private_libunwind.py) only.
void lead_libunwind_calls();

}  // namespace peakline::capture
