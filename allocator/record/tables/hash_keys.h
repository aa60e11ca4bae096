// Keys of NH, the universal hash of UMAC (RFC 4418, section 5.1), here on 64-bit words: the 128-bit
// sum of (word + key) * (word' + key') over pairs of words, with separate keys for every position.
// The products do not depend on each other. Two different lists collide once in 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mix64.h"

namespace peakline::record {

inline constexpr size_t kHashKeyCount = 3072;

struct HashKeys {
    uint64_t keys[kHashKeyCount];
};

// Random enough: keys need only be uncorrelated with code addresses. The generator is
// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
consteval HashKeys make_hash_keys() {
    HashKeys made{};
    uint64_t state = 0x5EED0F5EA4C1E5ULL;
    for (uint64_t& key : made.keys) {
        state += kGoldenRatio;
        uint64_t mixed = (state ^ state >> 30U) * 0xBF58476D1CE4E5B9ULL;
        mixed = (mixed ^ mixed >> 27U) * 0x94D049BB133111EBULL;
        key = mixed ^ mixed >> 31U;
    }
    return made;
}

// All users share one table: the keys that one user read are in the caches for the next.
inline constexpr HashKeys kHashKeys = make_hash_keys();

}  // namespace peakline::record
