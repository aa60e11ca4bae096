#include "page_columns.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace peakline::report {
namespace {

uint64_t zigzag(int64_t number) {
    return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
}

}  // namespace

const char* coding_name(ColumnCoding coding) {
    switch (coding) {
        case ColumnCoding::kSigned:
            return "signed";
        case ColumnCoding::kDelta:
            return "delta";
        case ColumnCoding::kPlain:
            break;
    }
    return "plain";
}

CodedColumn code_column(ColumnCoding coding, std::span<const int64_t> numbers) {
    std::vector<uint64_t> coded;
    coded.reserve(numbers.size());
    uint64_t before = 0;
    uint64_t all_bits = 0;
    for (const int64_t number : numbers) {
        const auto value = static_cast<uint64_t>(number);
        const uint64_t one = coding == ColumnCoding::kPlain ? value
                             : coding == ColumnCoding::kSigned
                                 ? zigzag(number)
                                 : zigzag(static_cast<int64_t>(value - before));
        before = value;
        all_bits |= one;
        coded.push_back(one);
    }
    CodedColumn column;
    column.count = coded.size();
    column.width = std::max(1U, (static_cast<uint32_t>(std::bit_width(all_bits)) + 7) / 8);
    column.planes.reserve(column.width * coded.size());
    for (uint32_t plane = 0; plane < column.width; ++plane) {
        for (const uint64_t one : coded) {
            column.planes += static_cast<char>(one >> (8 * plane));
        }
    }
    return column;
}

uint64_t CodedColumn::compressed_bytes() const {
    double bits = 0;
    for (uint32_t plane = 0; plane < width; ++plane) {
        std::array<uint64_t, 256> uses = {};
        for (uint64_t i = 0; i < count; ++i) {
            ++uses[static_cast<unsigned char>(planes[plane * count + i])];
        }
        for (const uint64_t one : uses) {
            const auto use = static_cast<double>(one);
            bits += one != 0 ? use * std::log2(static_cast<double>(count) / use) : 0;
        }
    }
    return static_cast<uint64_t>(bits / 8);
}

}  // namespace peakline::report
