#include "cells.h"

#include <utility>

namespace peakline::report {
namespace {

template <class Value, std::string (*Format)(Value)>
Cell formatted(Value value) {
    return {value, [](const Cell& cell) { return Format(std::get<Value>(cell.value)); }, {}, {}};
}

template <class... Ways>
struct Overloaded : Ways... {
    using Ways::operator()...;
};
template <class... Ways>
Overloaded(Ways...) -> Overloaded<Ways...>;

}  // namespace

Cell bytes_cell(uint64_t bytes) {
    return formatted<uint64_t, format_bytes>(bytes);
}

Cell bytes_cell(int64_t bytes) {
    return formatted<int64_t, format_bytes>(bytes);
}

Cell count_cell(uint64_t count) {
    return formatted<uint64_t, format_count>(count);
}

Cell share_cell(double share) {
    return formatted<double, format_share>(share);
}

Cell percent_cell(double share) {
    return formatted<double, format_percent>(share);
}

Cell seconds_cell(double seconds) {
    return formatted<double, format_seconds>(seconds);
}

Cell no_cell() {
    return {std::monostate(), nullptr, "-", {}};
}

std::string words_of(const Cell& cell) {
    if (cell.shown.has_value()) {
        return *cell.shown;
    }
    if (cell.words != nullptr) {
        return cell.words(cell);
    }
    return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                                 [](bool is_true) { return std::string(is_true ? "yes" : "no"); },
                                 [](const std::string& text) { return text; },
                                 [](auto number) { return std::to_string(number); }},
                      cell.value);
}

void put_value(JsonWriter& json, const Cell& cell) {
    std::visit(Overloaded{[&](std::monostate) { json.null(); },
                          [&](const auto& value) { json.value(value); }},
               cell.value);
}

}  // namespace peakline::report
