// The table of what the driver has given, against a map.
#include "preload/device/driver_blocks.h"

#include <map>
#include <random>
#include <utility>

#include "tests/unit/catching.h"

using peakline::preload::DriverBlock;
using peakline::preload::DriverBlocks;

namespace {

using Key = std::pair<uint32_t, uint64_t>;  // space and key

DriverBlock block_of(Key key, uint64_t bytes) {
    DriverBlock block{};
    block.space = static_cast<uint8_t>(key.first);
    block.key = key.second;
    block.bytes = bytes;
    return block;
}

std::map<Key, uint64_t> content(const DriverBlocks& blocks) {
    std::map<Key, uint64_t> found;
    blocks.for_each(
        [&](const DriverBlock& block) { found[{block.space, block.key}] = block.bytes; });
    return found;
}

}  // namespace

TEST_CASE("the blocks of the driver are those that were put in and not taken out", "[driver]") {
    std::mt19937 random(7);
    DriverBlocks blocks;
    REQUIRE(blocks.init());
    std::map<Key, uint64_t> expected;
    for (int round = 0; round < 20'000; ++round) {
        // Few keys, so that they come again; addresses and small handles.
        const uint64_t number = random() % 3000;
        const Key key{random() % 3, random() % 2 == 0 ? number : number << 21U};
        DriverBlock* const found = blocks.find(key.first, key.second);
        REQUIRE((found != nullptr) == (expected.count(key) != 0));
        if (found != nullptr && random() % 2 == 0) {
            REQUIRE(found->bytes == expected[key]);
            blocks.remove(found);
            expected.erase(key);
        } else {
            expected[key] = random();
            REQUIRE(blocks.insert(block_of(key, expected[key])));
        }
    }
    CHECK(content(blocks) == expected);
    blocks.clear();
    CHECK(content(blocks).empty());
}
