#include "allocator/record/address_rounds.h"

#include <catch2/catch.hpp>

#include "allocator/record/follow_cache.h"

using peakline::record::AddressRounds;
using peakline::record::Sequence;

TEST_CASE("in a loop the addresses of the round before are expected", "[record]") {
    AddressRounds addresses;
    Sequence<1024> shapes{};
    uint32_t met_at[101] = {};
    size_t right = 0;
    constexpr int kRounds = 6;
    constexpr uint32_t kBlocks = 100;
    for (int round = 0; round < kRounds; ++round) {
        for (uint32_t block = 1; block <= kBlocks; ++block) {
            if (shapes.guess() == block) {
                shapes.follow(&met_at[block]);
            } else {
                shapes.follow_other(block, &met_at[block]);
            }
            addresses.follow_rounds(shapes.rounds());
            addresses.note(block);  // allocated, and freed at once
            addresses.note(block);
            const uint32_t next = block % kBlocks + 1;
            const bool is_last_round = round == kRounds - 1;
            right += is_last_round && addresses.expected(0) == next && addresses.expected(1) == next
                         ? 1
                         : 0;
        }
    }
    REQUIRE(addresses.repeat());
    REQUIRE(right == kBlocks);
}

TEST_CASE("rounds of a few blocks, and none, are not followed", "[record]") {
    AddressRounds addresses;
    for (uint32_t round = 0; round < 100; ++round) {
        addresses.follow_rounds(round);
        addresses.note(7);
        REQUIRE_FALSE(addresses.repeat());
    }
}
