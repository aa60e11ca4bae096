#include "allocator/record/tables/predictor.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

#include "tests/unit/catching.h"

using peakline::record::NumberedCache;
using peakline::record::Predictor;

namespace {

struct Key {
    uint64_t value;
    bool operator==(const Key&) const = default;
};
// Few bits, so that many keys share a set.
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

TEST_CASE("a numbered cache never gives a key another's id, whatever it compares first",
          "[record]") {
    auto& cache = fresh_cache<NumberedCache<Key, 64>>();
    std::unordered_map<uint64_t, uint32_t> expected;
    std::mt19937_64 random(7);
    size_t found_count = 0;
    for (uint32_t i = 1; i <= 200'000; ++i) {
        const Key key{random() % 8 == 0 ? random() % 500 : i % (40 + i / 10'000)};
        auto number = static_cast<uint32_t>(random() % 65);
        const uint32_t found = cache.find(key, poor_hash, &number);
        if (found != 0) {
            ++found_count;
            REQUIRE(found == expected.at(key.value));
        } else {
            expected[key.value] = i;
            cache.insert(key, poor_hash, i, &number);
        }
        REQUIRE(cache.find(key, poor_hash, &number) == expected.at(key.value));
    }
    REQUIRE(found_count > 50'000);
}

namespace {

// How many parts are mispredicted in the last of `rounds` rounds.
template <uint32_t kSize = 1024>
size_t misses(const std::vector<uint64_t>& parts, int rounds) {
    auto& predictor = fresh_cache<Predictor<Key, kSize>>();
    size_t count = 0;
    for (int round = 0; round < rounds; ++round) {
        count = 0;
        for (const uint64_t part : parts) {
            count += predictor.predicted() == Key{part} ? 0 : 1;
            predictor.observe(Key{part}, good_hash);
        }
    }
    return count;
}

}  // namespace

TEST_CASE("a loop is predicted from its second or third round on", "[record]") {
    std::vector<uint64_t> layers;
    // Twelve times the same four, then one of its own: like layers that share their lines.
    for (uint64_t part = 0; part < 12; ++part) {
        layers.insert(layers.end(), {1, 2, 3, 100 + part});
    }
    REQUIRE(misses(layers, 4) == 0);
    REQUIRE(misses({5}, 3) == 0);
    REQUIRE(misses({1, 2}, 3) == 0);
    REQUIRE(misses({1, 2, 1, 3}, 6) == 0);
    REQUIRE(misses({1, 1, 1, 1, 2, 1, 1, 3}, 10) == 0);
    std::vector<uint64_t> longer(1500);
    std::iota(longer.begin(), longer.end(), 1);
    REQUIRE(misses(longer, 3) > 0);  // more different ones than it keeps
}

TEST_CASE("a run of one key within a loop is as long in the next round", "[record]") {
    std::vector<uint64_t> step(900);
    std::iota(step.begin(), step.end(), 1);
    // As an optimizer does that allocates for all parameters in one line.
    step.insert(step.begin() + 600, 148, 1000);
    REQUIRE(misses<16384>(step, 4) == 0);
}

TEST_CASE("keys of a loop do not evict each other while there is room", "[record]") {
    std::mt19937_64 random(13);
    for (int i = 0; i < 20; ++i) {
        std::vector<uint64_t> step(2000);
        std::generate(step.begin(), step.end(), random);
        REQUIRE(misses<16384>(step, 3) == 0);
    }
}

TEST_CASE("a loop is predicted again after a round of other keys", "[record]") {
    auto& predictor = fresh_cache<Predictor<Key, 256>>();
    std::mt19937_64 random(11);
    const auto run = [&](uint64_t first, uint64_t count) {
        size_t missed = 0;
        for (uint64_t value = first; value < first + count; ++value) {
            missed += predictor.predicted() == Key{value} ? 0 : 1;
            predictor.observe(Key{value}, good_hash);
        }
        return missed;
    };
    for (int round = 0; round < 100; ++round) {
        run(1, 50);
        run(1, 50);
        REQUIRE(run(1, 50) <= 1);
        for (int i = 0; i < 40; ++i) {
            predictor.observe(Key{1 + random() % 300}, good_hash);
        }
    }
}
