#include "keep_option.h"

#include <cstring>

#include <strings.h>

namespace peakline::preload {
namespace {

// 0: the text is not a unit.
double unit_bytes(const char* text) {
    if (text[0] == '\0' || strcasecmp(text, "b") == 0) {
        return 1;
    }
    const char* const letters = "kmgt";
    const char letter = static_cast<char>(text[0] | 0x20);
    const char* found = strchr(letters, letter);
    if (found == nullptr || *found == '\0') {
        return 0;
    }
    const bool is_decimal = strcasecmp(text + 1, "b") == 0;
    if (!is_decimal && text[1] != '\0' && strcasecmp(text + 1, "ib") != 0) {
        return 0;
    }
    double bytes = 1;
    for (const char* step = letters; step <= found; ++step) {
        bytes *= is_decimal ? 1000 : 1024;
    }
    return bytes;
}

// Parses digits with at most one point. Returns the rest, or nullptr without a digit. strtod would
// use the program's locale.
const char* parse_number(const char* text, double* number) {
    double digit_worth = 0;  // value of the next digit after the point; 0: before it
    bool found = false;
    for (;; ++text) {
        if (*text >= '0' && *text <= '9') {
            const double digit = *text - '0';
            *number = digit_worth == 0 ? *number * 10 + digit : *number + digit * digit_worth;
            digit_worth /= 10;
            found = true;
        } else if (*text == '.' && digit_worth == 0) {
            digit_worth = 0.1;
        } else {
            return found ? text : nullptr;
        }
    }
}

bool parse_size(const char* text, uint64_t* bytes) {
    double number = 0;
    const char* unit = parse_number(text, &number);
    if (unit == nullptr) {
        return false;
    }
    while (*unit == ' ') {
        ++unit;
    }
    const double total = number * unit_bytes(unit);
    if (!(total >= static_cast<double>(kLeastKeptBytes) && total < 1e18)) {
        return false;
    }
    *bytes = static_cast<uint64_t>(total);
    return true;
}

}  // namespace

bool parse_keep(const char* text, record::Keep* keep) {
    constexpr size_t kLastLength = 5;
    if (strcmp(text, "all") == 0) {
        *keep = record::Keep{record::Keep::Kind::kAll, 0};
        return true;
    }
    if (strcmp(text, "peak") == 0) {
        *keep = record::Keep{record::Keep::Kind::kPeak, 0};
        return true;
    }
    uint64_t bytes = 0;
    if (strncmp(text, "last:", kLastLength) != 0 || !parse_size(text + kLastLength, &bytes)) {
        return false;
    }
    *keep = record::Keep{record::Keep::Kind::kLast, bytes};
    return true;
}

}  // namespace peakline::preload
