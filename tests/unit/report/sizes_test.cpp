// `plan --sizes`: the growth of blocks, compared with formulas that are known; the alignment of two
// runs, compared with the longest common sequence by a table.
#include <algorithm>
#include <random>

#include "report/views/sizes/block_growth.h"
#include "report/views/sizes/run_alignment.h"
#include "report/views/sizes/size_words.h"
#include "tests/unit/catching.h"

using namespace peakline::report;

namespace {

const std::vector<StepSize> kRecorded = {{2, 512}, {4, 768}};
const StepSize kTarget = {64, 8192};

BlockGrowth growth_of(const std::vector<uint64_t>& bytes,
                      const std::vector<StepSize>& recorded = kRecorded,
                      const StepSize& target = kTarget) {
    GrowthFitter fitter(recorded, {target});
    return fitter.of(bytes);
}

bool is_exact(const BlockGrowth& growth, int64_t bytes) {
    const GrownBytes& at = growth.at.front();
    return at.low == bytes && at.bytes == bytes && at.high == bytes;
}

size_t longest_common(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    std::vector<std::vector<size_t>> best(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = a.size(); i-- > 0;) {
        for (size_t j = b.size(); j-- > 0;) {
            best[i][j] =
                a[i] == b[j] ? best[i + 1][j + 1] + 1 : std::max(best[i + 1][j], best[i][j + 1]);
        }
    }
    return best[0][0];
}

}  // namespace

TEST_CASE("two sizes tell how a block grows", "[sizes]") {
    CHECK(is_exact(growth_of({4096, 4096}), 4096));
    CHECK(is_exact(growth_of({2 * 48, 4 * 48}), 64 * 48));
    CHECK(is_exact(growth_of({512 * 3, 768 * 3}), 8192 * 3));
    CHECK(is_exact(growth_of({2 * 512 * 4, 4 * 768 * 4}), int64_t{64} * 8192 * 4));
    CHECK(is_exact(growth_of({512 * 512, 768 * 768}), int64_t{8192} * 8192));
    CHECK(is_exact(growth_of({2 * 512 * 512 * 12, 4 * 768 * 768 * 12}),
                   int64_t{64} * 8192 * 8192 * 12));
    CHECK(growth_of({2 * 512 * 512, 4 * 768 * 768}).growth == Growth::kBatchLengthSquared);
}

TEST_CASE("a position less, and a padded length, are recognized", "[sizes]") {
    CHECK(is_exact(growth_of({2 * 511 * 100, 4 * 767 * 100}), int64_t{64} * 8191 * 100));
    const std::vector<StepSize> odd = {{2, 100}, {4, 350}};
    CHECK(is_exact(growth_of({2 * 128 * 8, 4 * 384 * 8}, odd, {8, 1000}), 8 * 1024 * 8));
}

TEST_CASE("a cache has the tokens that it will get", "[sizes]") {
    const BlockGrowth growth = growth_of({2 * (512 + 40) * 96, 4 * (768 + 40) * 96});
    CHECK(growth.shift == 40);
    CHECK(is_exact(growth, int64_t{64} * (8192 + 40) * 96));
}

TEST_CASE("the mask of a cache has the tokens of the prompt and those of the cache", "[sizes]") {
    const BlockGrowth growth = growth_of({2 * 512 * 517, 4 * 768 * 773});
    CHECK(growth.growth == Growth::kBatchLengthSquared);
    CHECK(growth.shift == 5);
    const GrownBytes& at = growth.at.front();
    CHECK(at.bytes == int64_t{64} * 8192 * 8197);
    CHECK(at.low <= at.bytes);
    CHECK(at.bytes <= at.high);
}

TEST_CASE("a half of a byte for each pixel is a formula, too", "[sizes]") {
    const std::vector<StepSize> images = {{2, 64}, {4, 96}};
    CHECK(is_exact(growth_of({2 * 64 * 64 / 2, 4 * 96 * 96 / 2}, images, {8, 224}),
                   8 * 224 * 224 / 2));
}

TEST_CASE("sizes that cannot tell formulas apart give bounds", "[sizes]") {
    const std::vector<StepSize> equal_lengths = {{2, 512}, {4, 512}};
    const BlockGrowth growth = growth_of({2 * 512 * 4, 4 * 512 * 4}, equal_lengths);
    CHECK(growth.growth == Growth::kBatchLength);
    CHECK(growth.other != growth.growth);
    CHECK(growth.at.front().low == 64 * 512 * 4);
    CHECK(growth.at.front().high == int64_t{64} * 8192 * (8192 / 512) * 4);
    // The recorded length again: nothing is left to tell.
    CHECK(is_exact(growth_of({2 * 512 * 4, 4 * 512 * 4}, equal_lengths, {64, 512}), 64 * 512 * 4));
    CHECK(reason_of_doubt(equal_lengths, growth.growth, growth.other).find("with another length") !=
          std::string::npos);
}

TEST_CASE("three sizes tell two terms, which two sizes only bound", "[sizes]") {
    const auto bytes = [](uint64_t batch, uint64_t side) {
        return batch * (side * side / 256 + 1) * 3072;  // patches of 16 and a class token
    };
    const auto real = static_cast<int64_t>(bytes(16, 512));
    const BlockGrowth two = growth_of({bytes(2, 64), bytes(4, 96)}, {{2, 64}, {4, 96}}, {16, 512});
    CHECK(two.growth == Growth::kTwoTerms);
    CHECK(two.at.front().low <= real);
    CHECK(real <= two.at.front().high);
    const BlockGrowth three = growth_of(
        {bytes(2, 64), bytes(4, 96), bytes(8, 224)}, {{2, 64}, {4, 96}, {8, 224}}, {16, 512});
    CHECK(is_exact(three, real));
}

TEST_CASE("a block that one recording alone has may be gone or larger", "[sizes]") {
    const BlockGrowth growth = growth_of({kNoBytes, 4096});
    CHECK(growth.growth == Growth::kUnknown);
    CHECK(growth.at.front().low == 0);
    CHECK(growth.at.front().high > 4096);
}

TEST_CASE("runs are aligned by their longest common sequence", "[sizes]") {
    std::mt19937 generator(5);
    const auto random = [&generator] { return static_cast<uint32_t>(generator()); };
    for (int round = 0; round < 200; ++round) {
        std::vector<uint32_t> base(random() % 40);
        std::vector<uint32_t> other(random() % 40);
        const uint32_t values = 1 + random() % 6;
        for (uint32_t& one : base) {
            one = random() % values;
        }
        for (uint32_t& one : other) {
            one = random() % values;
        }
        const auto pairs = align_runs(base, other);
        REQUIRE(pairs.has_value());
        size_t count = 0;
        uint32_t next = 0;
        for (size_t i = 0; i < base.size(); ++i) {
            const uint32_t pair = (*pairs)[i];
            if (pair != kNotAligned) {
                CHECK(pair >= next);
                REQUIRE(pair < other.size());
                CHECK(base[i] == other[pair]);
                next = pair + 1;
                ++count;
            }
        }
        CHECK(count == longest_common(base, other));
    }
}

TEST_CASE("runs of other programs are not aligned", "[sizes]") {
    std::vector<uint32_t> base(5000, 1);
    const std::vector<uint32_t> other(5000, 2);
    CHECK_FALSE(align_runs(base, other).has_value());
    base[2500] = 7;
    CHECK(align_runs(base, std::vector<uint32_t>(5000, 1)).has_value());
}

TEST_CASE("a size has a batch and a length", "[sizes]") {
    const NamedSize named = recorded_size_of("8 512 /tmp/a b.peak");
    CHECK(named.size == StepSize{8, 512});
    CHECK(named.path == "/tmp/a b.peak");
    CHECK(asked_size_of("64 8192").new_tokens == 0);
    CHECK(asked_size_of("64 8192 256").new_tokens == 256);
    for (const char* const wrong : {"", "8", "8 x", "8 99999999"}) {
        CHECK_THROWS(asked_size_of(wrong));
    }
}
