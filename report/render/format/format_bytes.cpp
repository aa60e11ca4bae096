#include "format_bytes.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace peakline::report {
namespace {

constexpr const char* kUnits[] = {"KB", "MB", "GB", "TB"};

std::string fixed(double value, int decimals) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", decimals, value);
    return text;
}

double rounded(double value, int decimals) {
    const double scale = std::pow(10, decimals);
    return std::round(value * scale) / scale;
}

// Number of decimals for four digits after rounding. A value that rounds up to one more digit gets
// fewer decimals.
int decimals_for(double value) {
    double limit = 10;
    for (int decimals = 3; decimals > 0; --decimals, limit *= 10) {
        if (rounded(value, decimals) < limit) {
            return decimals;
        }
    }
    return 0;
}

}  // namespace

std::string format_bytes(uint64_t bytes) {
    if (bytes < 1024) {
        return std::to_string(bytes) + " B";
    }
    double value = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    while (unit + 1 < std::size(kUnits) && rounded(value, decimals_for(value)) >= 1024) {
        value /= 1024;
        ++unit;
    }
    return fixed(rounded(value, decimals_for(value)), decimals_for(value)) + " " + kUnits[unit];
}

std::string format_bytes(int64_t bytes) {
    if (bytes < 0) {
        return "-" + format_bytes(-static_cast<uint64_t>(bytes));
    }
    return format_bytes(static_cast<uint64_t>(bytes));
}

std::string format_count(uint64_t count) {
    std::string text = std::to_string(count);
    for (size_t i = text.size(); i > 3; i -= 3) {
        text.insert(i - 3, 1, ',');
    }
    return text;
}

std::string format_percent(double share) {
    return fixed(share * 100, 1);
}

std::string format_share(double share) {
    return format_percent(share) + " %";
}

std::string format_seconds(double seconds) {
    return fixed(seconds, seconds < 10 ? 3 : 1) + " s";
}

}  // namespace peakline::report
