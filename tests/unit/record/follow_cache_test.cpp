#include "allocator/record/follow_cache.h"

#include <random>
#include <unordered_map>

#include <catch2/catch.hpp>

using peakline::record::FollowCache;

namespace {

struct Key {
    uint64_t value;
    bool operator==(const Key&) const = default;
};
// Few bits, so that keys meet in one set.
uint32_t poor_hash(const Key& key) {
    return static_cast<uint32_t>(key.value % 37);
}
uint32_t good_hash(const Key& key) {
    return static_cast<uint32_t>(key.value * 0x9E3779B97F4A7C15ULL >> 32U);
}

// Static storage is zero, as the cache wants its memory.
template <class Cache>
Cache& fresh_cache() {
    static Cache cache;
    cache = Cache{};
    return cache;
}

}  // namespace

TEST_CASE("the cache of what comes next never gives a key another's id", "[record]") {
    auto& cache = fresh_cache<FollowCache<Key, 64>>();
    std::unordered_map<uint64_t, uint32_t> expected;
    std::mt19937_64 random(7);
    size_t found_count = 0;
    for (uint32_t i = 1; i <= 200'000; ++i) {
        // Loops of changing length, with noise.
        const Key key{random() % 8 == 0 ? random() % 500 : i % (40 + i / 10'000)};
        const uint32_t found = cache.find(key, poor_hash);
        if (found != 0) {
            ++found_count;
            REQUIRE(found == expected.at(key.value));
        } else {
            expected[key.value] = i;
            cache.insert(key, poor_hash, i);
        }
    }
    REQUIRE(found_count > 50'000);
}

TEST_CASE("a loop with repeated parts is guessed, not looked up", "[record]") {
    auto& cache = fresh_cache<FollowCache<Key, 1024>>();
    size_t hash_count = 0;
    const auto counted_hash = [&](const Key& key) {
        ++hash_count;
        return good_hash(key);
    };
    constexpr int kRounds = 20;
    constexpr int kParts = 12;
    size_t hashes_before_last = 0;
    for (int round = 0; round < kRounds; ++round) {
        hashes_before_last = hash_count;
        // Twelve times the same four, then one of its own: like layers that share their lines.
        for (uint64_t part = 0; part < kParts; ++part) {
            for (const uint64_t value : {uint64_t{1}, uint64_t{2}, uint64_t{3}, 100 + part}) {
                if (cache.find(Key{value}, counted_hash) == 0) {
                    cache.insert(Key{value}, counted_hash, static_cast<uint32_t>(value));
                }
            }
        }
    }
    REQUIRE(hash_count > 0);
    REQUIRE(hash_count == hashes_before_last);  // none in the last round
}
