// Standard error as it was when the process started; see standard_error.cpp.
#pragma once

// One line, "peakline: WHATWHY", only where standard error still is that file.
void peakline_complain(const char* what, const char* why);
