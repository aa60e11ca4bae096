#include "allocator/record/levels/live_set.h"

#include <algorithm>
#include <random>
#include <unordered_map>
#include <vector>

#include "tests/unit/catching.h"

using peakline::record::LiveBlock;
using peakline::record::LiveSet;

namespace {

LiveBlock block_at(uint64_t address, uint64_t ordinal) {
    return LiveBlock{address, ordinal, ordinal * 3, ordinal * 5, 7, 0, 1, 0};
}

bool insert(LiveSet& set, const LiveBlock& block) {
    LiveBlock* const slot = set.add(block.address);
    if (slot != nullptr) {
        *slot = block;
    }
    return slot != nullptr;
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
            REQUIRE(insert(set, block_at(address, ordinal)));
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
    REQUIRE(insert(set, block_at(512, 1)));
    REQUIRE(set.find(1024) == nullptr);
}

TEST_CASE("an address that comes again has the place it had", "[record]") {
    LiveSet set;
    REQUIRE(set.init(64));
    std::vector<uint32_t> places;
    for (uint64_t round = 0; round < 10; ++round) {
        for (uint64_t i = 1; i <= 20; ++i) {
            REQUIRE(insert(set, block_at(i * 512, round)));
            places.push_back(set.slot_of(set.find(i * 512)));
            REQUIRE(places.back() == places[i - 1]);
        }
        for (uint64_t i = 1; i <= 20; ++i) {
            set.erase(set.find(i * 512));
            REQUIRE(set.find(i * 512) == nullptr);
            REQUIRE(set.at(places[i - 1])->address == i * 512);
            REQUIRE_FALSE(LiveSet::is_live(*set.at(places[i - 1])));
        }
        REQUIRE(set.size() == 0);
    }
}

TEST_CASE("addresses that never come again do not fill the memory", "[record]") {
    constexpr uint64_t kLive = 100;
    LiveSet set;
    REQUIRE(set.init(16));
    uint32_t last_place = 0;
    for (uint64_t i = 1; i <= 100'000; ++i) {
        REQUIRE(insert(set, block_at(i * 512, i)));
        last_place = std::max(last_place, set.slot_of(set.find(i * 512)));
        if (i > kLive) {
            set.erase(set.find((i - kLive) * 512));
        }
    }
    REQUIRE(last_place < 4 * kLive);
}
