// Keeps libunwind away from the program's descriptors. See libunwind_calls.cpp.
#pragma once

namespace peakline::capture {

// Call it before libunwind is used. Only for our own copy of it (private_libunwind.py).
void lead_libunwind_calls();

}  // namespace peakline::capture
