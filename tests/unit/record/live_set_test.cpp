#include "allocator/record/live_set.h"

#include <random>
#include <unordered_map>
#include <vector>

#include <catch2/catch.hpp>

using peakline::record::LiveBlock;
using peakline::record::LiveSet;

namespace {

LiveBlock block_at(uint64_t address, uint64_t ordinal) {
    return LiveBlock{address, ordinal, ordinal * 3, ordinal * 5, 7, 0, 1, 0};
}

}  // namespace

TEST_CASE("the live set agrees with a standard map over random inserts and erases", "[record]") {
    std::mt19937_64 random(20);
    LiveSet set;
    REQUIRE(set.init(16));  // small, so that it grows and wraps often
    std::unordered_map<uint64_t, uint64_t> expected;
    std::vector<uint64_t> addresses;
    for (uint64_t ordinal = 1; ordinal <= 200000; ++ordinal) {
        const bool grow = random() % 1000 < (ordinal < 100000 ? 520U : 480U);
        if (addresses.empty() || grow) {
            const uint64_t address = (random() % 4096 + 1) * 512;  // few: many collisions
            if (expected.count(address) != 0) {
                continue;
            }
            REQUIRE(set.insert(block_at(address, ordinal)));
            expected[address] = ordinal;
            addresses.push_back(address);
        } else {
            const size_t chosen = random() % addresses.size();
            LiveBlock* found = set.find(addresses[chosen]);
            REQUIRE(found != nullptr);
            REQUIRE(found->ordinal == expected[addresses[chosen]]);
            set.erase(found);
            expected.erase(addresses[chosen]);
            addresses[chosen] = addresses.back();
            addresses.pop_back();
        }
        REQUIRE(set.size() == expected.size());
    }
    size_t visited = 0;
    set.for_each([&](const LiveBlock& block) {
        ++visited;
        REQUIRE(expected.at(block.address) == block.ordinal);
    });
    REQUIRE(visited == expected.size());
}

TEST_CASE("an address that was never inserted is not found", "[record]") {
    LiveSet set;
    REQUIRE(set.init(16));
    REQUIRE(set.find(512) == nullptr);
    REQUIRE(set.insert(block_at(512, 1)));
    REQUIRE(set.find(1024) == nullptr);
}
