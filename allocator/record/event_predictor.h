// Predicts the next allocations and frees of a training loop. Used by the recorder under its lock;
// no malloc. Lives in memory that is zero, which is the empty state.
//
// Note [Predicted events]
// Every round of a loop gives the same blocks the same addresses in the same order. So the work
// done for an event is kept: the slot of its block in the live set (blocks keep their slots, see
// Note [Slots that stay] in live_set.h) and the bytes it became in the trace. When the next event
// is the predicted one (same address, sizes, context, stream and device), only counting and copying
// a few bytes is left: no lookup in the live set, no class, no encoding. Every prediction is
// compared before it is used, and an event that needs more (a checkpoint, an open phase, a total of
// torch's that differs from ours) takes the slow path. In a program without loops logging would be
// wasted: while eight of nine events are mispredicted, learning pauses for some time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "allocator/record/tables/mix64.h"
#include "allocator/record/tables/predictor.h"
#include "allocator/record/writer/trace_writer.h"

namespace peakline::record {

// An allocation and its record in the trace. A free is kept as its slot alone.
struct PredictedAlloc {
    uint32_t slot;  // of the block, in LiveSet
    WrittenAlloc written;
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    uint32_t unused;  // no padding: compared by its bytes
    uint64_t requested_bytes;
    uint64_t block_bytes;

    bool is_shape_of(const AllocEvent& event) const {
        // See Note [In one line] in hot_data.h.
        const uint64_t sizes =
            (requested_bytes ^ event.requested_bytes) | (block_bytes ^ event.block_bytes);
        const uint32_t ids =
            (context ^ event.context) | (stream ^ event.stream) | (device ^ event.device);
        return (sizes | ids) == 0;
    }
    bool operator==(const PredictedAlloc& other) const {
        return std::bit_cast<Bytes>(*this) == std::bit_cast<Bytes>(other);
    }

private:
    struct Bytes {
        uint64_t words[7];
        bool operator==(const Bytes&) const = default;
    };
};
static_assert(sizeof(PredictedAlloc) == 56);

class EventPredictor {
public:
    // The allocation that should come; one of zeros, which is none, if a free should come.
    const PredictedAlloc& predicted() const { return predictor_.predicted(); }
    // Whether the next event should be a free.
    bool predicts_free() const { return predictor_.predicted_number() < kSlots; }
    // The slot of the block of the next event.
    uint32_t predicted_slot() const {
        const uint32_t freed = predictor_.predicted_number();
        return freed < kSlots ? freed : predicted().slot;
    }
    // The predicted event came.
    void hit() { predictor_.hit(); }
    // This allocation came.
    void observe(const PredictedAlloc& alloc) {
        if (may_learn()) {
            predictor_.observe(alloc, hash_of);
        }
    }
    // The block in this slot was freed.
    void observe_free(uint32_t slot) {
        if (predictor_.predicted_number() == slot) {
            hit();
        } else if (slot < kSlots && may_learn()) {
            predictor_.miss_number(slot);
        }
    }
    // For a new trace: bytes that were written to another one are meaningless there.
    void forget() { predictor_.forget(); }
    // Fetches the entry that should come after the predicted event.
    void prefetch() const { predictor_.prefetch_second(); }

private:
    // Whether a misprediction may still be learned.
    bool may_learn() {
        if (__builtin_expect(left_to_skip_ != 0, 0)) {
            --left_to_skip_;
            return false;
        }
        const uint64_t outweighed = uint64_t{predictor_.hit_count()} * kMissesPerHit;
        misses_ -= static_cast<uint32_t>(std::min<uint64_t>(outweighed, misses_));
        if (++misses_ == kLongestRound) {
            misses_ = 0;
            left_to_skip_ = kPause;
        }
        return true;
    }
    static uint32_t hash_of(const PredictedAlloc& event) {
        const uint64_t slot = event.slot | uint64_t{event.context} << 32U;
        const uint64_t addresses = mix64(event.written.previous_address ^ mix64(slot));
        return static_cast<uint32_t>(mix64(addresses ^ event.requested_bytes));
    }

    static constexpr uint32_t kLongestRound = 1U << 16;
    static constexpr uint32_t kSlots = kLongestRound;
    static constexpr uint32_t kPause = 7 * kLongestRound;  // in mispredictions
    static constexpr uint32_t kMissesPerHit = 8;           // one hit outweighs so many

    Predictor<PredictedAlloc, kLongestRound, kSlots> predictor_;
    uint32_t misses_;        // more than were outweighed
    uint32_t left_to_skip_;  // mispredictions that are not learned
};

}  // namespace peakline::record
