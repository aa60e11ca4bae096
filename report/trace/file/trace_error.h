// The only exception of the report. Its text states the problem, the file position and the next
// step.
#pragma once

#include <stdexcept>
#include <string>

namespace peakline::report {

class TraceError : public std::runtime_error {
public:
    explicit TraceError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace peakline::report
