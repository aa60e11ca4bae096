// Standard error as it was when the process started; see standard_error.cpp.
#pragma once

// Prints one line, "peakline: WHATWHY", if standard error is still that file.
void peakline_complain(const char* what, const char* why);
