// The one way to spread a key over all bits, for hash tables of numbers and addresses. It only
// chooses slots: the caller compares the key.
#pragma once

#include <cstdint>

namespace peakline::record {

inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15ULL;  // 2^64 / phi

// A bijection, so different keys stay different. The low bits of the product, which most tables
// use, are weak, so the high bits are mixed into them. For several keys:
// mix64(mix64(first) ^ second).
constexpr uint64_t mix64(uint64_t key) {
    const uint64_t product = key * kGoldenRatio;
    return product ^ product >> 32U;
}

}  // namespace peakline::record
