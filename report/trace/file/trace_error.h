// The one exception of the report: its text says what is wrong, where, and what to do now.
#pragma once

#include <stdexcept>
#include <string>

namespace peakline::report {

class TraceError : public std::runtime_error {
public:
    explicit TraceError(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace peakline::report
