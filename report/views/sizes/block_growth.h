// How the bytes of one block grow with the size of a step: a formula from its bytes in recordings
// of several sizes. Plain numbers, without a recording.
//
// Note [Growth of a block]
// The bytes of a tensor are a product of its sizes, so one coefficient times powers of batch and
// length gives them: two recordings determine the coefficient and check the formula. Some kernels
// pad a length to a multiple, and some programs add a position or drop one; these are tried next,
// also with one coefficient. Two terms come last: with two recordings they are not checked. Where
// several formulas give the recorded bytes, the block has the least and the most of them as bounds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sizes_text.h"

namespace peakline::report {

enum class Growth : unsigned char {
    kBatchLength,
    kBatch,
    kLength,
    kBatchLengthSquared,
    kLengthSquared,
    kBatchSquared,
    kConstant,
    kTwoTerms,  // not checked, with two recordings
    kUnknown,   // no formula gives the recorded bytes, or one recording alone has the block
};
inline constexpr size_t kGrowthCount = 9;
// "batch x length"
const char* growth_name(Growth growth);

// The bytes of a block at one size, or of several blocks.
struct GrownBytes {
    int64_t low = 0;
    int64_t bytes = 0;  // by the plainest formula
    int64_t high = 0;

    // Wraps around: a hostile trace may have any sizes.
    void add(const GrownBytes& other, int sign) {
        low = wrapped_sum(low, sign * other.low);
        bytes = wrapped_sum(bytes, sign * other.bytes);
        high = wrapped_sum(high, sign * other.high);
    }

private:
    static int64_t wrapped_sum(int64_t sum, int64_t more) {
        return static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(more));
    }
};

struct BlockGrowth {
    Growth growth = Growth::kConstant;
    int64_t shift = 0;                 // added to the length: see kMostShift
    Growth other = Growth::kConstant;  // a formula that recordings cannot tell from it; else equal
    std::vector<GrownBytes> at;        // by target
};

// Programs drop a position or add some: a cache has the tokens that it will get.
inline constexpr int64_t kMostShift = 4096;
inline constexpr uint64_t kNoBytes = UINT64_MAX;  // a recording without the block

class GrowthFitter {
public:
    // Sizes of the recordings, and those to predict.
    GrowthFitter(std::vector<StepSize> recorded, std::vector<StepSize> targets)
        : recorded_(std::move(recorded)), targets_(std::move(targets)) {}

    // `bytes`: by recording. The result lives as long as this; equal blocks share it.
    const BlockGrowth& of(const std::vector<uint64_t>& bytes);

private:
    BlockGrowth fit(const std::vector<uint64_t>& bytes) const;

    std::vector<StepSize> recorded_;
    std::vector<StepSize> targets_;
    std::map<std::vector<uint64_t>, BlockGrowth> known_;
};

}  // namespace peakline::report
