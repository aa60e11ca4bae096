// A value of a report, described once: a JSON value for programs, words for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"

namespace peakline::report {

struct Cell {
    // monostate: null. People read a bool as "yes" or "no".
    std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string> value;
    std::string (*words)(const Cell&) = nullptr;  // nullptr: numbers and texts unchanged
    std::optional<std::string> shown;             // for people, instead of the words
    std::string parts;                            // object for the renderer; empty: none

    // The same value, shown as `text`.
    Cell shown_as(std::string text) const {
        Cell other = *this;
        other.shown = std::move(text);
        return other;
    }
    Cell dash_unless(bool is_known) const { return is_known ? *this : shown_as("-"); }
};

// "8.040 GB"
Cell bytes_cell(uint64_t bytes);
Cell bytes_cell(int64_t bytes);
// "1,204"
Cell count_cell(uint64_t count);
// "59.4 %" and "59.4" of a share between 0 and 1
Cell share_cell(double share);
Cell percent_cell(double share);
// "12.3 s"
Cell seconds_cell(double seconds);
// "-", null
Cell no_cell();

// A text, number or bool, unchanged.
template <class Value>
Cell cell(const Value& value) {
    if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, double>) {
        return {value, nullptr, std::nullopt, {}};
    } else if constexpr (std::is_integral_v<Value> && std::is_signed_v<Value>) {
        return {static_cast<int64_t>(value), nullptr, std::nullopt, {}};
    } else if constexpr (std::is_integral_v<Value>) {
        return {static_cast<uint64_t>(value), nullptr, std::nullopt, {}};
    } else {
        return {std::string(value), nullptr, std::nullopt, {}};
    }
}

template <class Value>
Cell cell(const std::optional<Value>& value) {
    return value.has_value() ? cell(*value) : no_cell();
}

// Makes the cell of a known value; nullopt is shown as "-" and written as null.
template <class Value, class Make>
Cell cell_or_dash(const std::optional<Value>& value, Make make) {
    return value.has_value() ? make(*value) : no_cell();
}

// A row of code. Programs get its text. People see its file, line and function, each shortened
// separately in a narrow column, and the first of `via` and `callers`. See document.h.
Cell line_cell(const PathDisplay& paths,
               const std::vector<Label>& labels,
               const std::vector<ViaPart>& via = {},
               const std::vector<ViaPart>& callers = {});

// Several lines for people. A whole line, for example a line of code, is never wrapped.
struct CellLine {
    std::string text;
    bool is_whole = false;
};
Cell lines_cell(const std::vector<CellLine>& lines);

std::string words_of(const Cell& cell);
void put_value(JsonWriter& json, const Cell& cell);

}  // namespace peakline::report
