// What the next allocations and frees of a training loop will be. Used by the recorder under its
// lock; no malloc. Lives in memory that is zero, which is the empty state.
//
// Note [Script of the events]
// Every round of a loop gives the same blocks the same addresses in the same order. So what was
// done for an event is kept: in which place of the live set its block lies (it stays, see Note
// [Places that stay] in live_set.h) and how it was written to the trace. When the next event is
// the expected one, with the same address, sizes, context, stream and device, what is left to do
// is to count and to copy a few bytes: no look into the index of the live set, no class, no
// encoding. Nothing is believed that is not compared, and an event that calls for more (a
// checkpoint, an open phase, a total of torch's that is not ours) goes the long way. A program
// without loops would only pay for what is written down: where eight of nine events are a surprise
// for a while, it rests for a while.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "follow_cache.h"
#include "trace_writer.h"

namespace peakline::record {

// An allocation. Of a free only the place is kept.
struct ScriptedEvent {
    uint32_t place;  // of the block, in LiveSet
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
    bool operator==(const ScriptedEvent& other) const {
        return std::bit_cast<Bytes>(*this) == std::bit_cast<Bytes>(other);
    }

private:
    struct Bytes {
        uint64_t words[7];
        bool operator==(const Bytes&) const = default;
    };
};
static_assert(sizeof(ScriptedEvent) == 56);

class EventScript {
public:
    // The allocation that should come; one of zeros, which is none, where a free should.
    const ScriptedEvent& expected() const { return trail_.expected(); }
    // Whether the next event should be a free.
    bool expects_free() const { return trail_.expected_number() < kPlaces; }
    // Of the block of the next event.
    uint32_t expected_place() const {
        const uint32_t freed = trail_.expected_number();
        return freed < kPlaces ? freed : expected().place;
    }
    // The expected event has come.
    void follow() { trail_.follow(); }
    // This one has come.
    void meet(const ScriptedEvent& event) {
        if (has_strength()) {
            trail_.meet(event, hash_of);
        }
    }
    void meet_free(uint32_t place) {
        if (trail_.expected_number() == place) {
            follow();
        } else if (place < kPlaces && has_strength()) {
            trail_.meet_other_number(place);
        }
    }
    // A new trace: what was written to another one means nothing there.
    void forget() { trail_.forget(); }
    // Fetches what is expected after the expected event.
    void prefetch() const { trail_.prefetch_second(); }

private:
    // For a surprise.
    bool has_strength() {
        if (__builtin_expect(left_to_rest_ != 0, 0)) {
            --left_to_rest_;
            return false;
        }
        const uint64_t outweighed = uint64_t{trail_.right_count()} * kWorthOfOne;
        surprises_ -= static_cast<uint32_t>(std::min<uint64_t>(outweighed, surprises_));
        if (++surprises_ == kLongestRound) {
            surprises_ = 0;
            left_to_rest_ = kRest;
        }
        return true;
    }
    static uint32_t hash_of(const ScriptedEvent& event) {
        const uint64_t place = event.place | uint64_t{event.context} << 32U;
        const uint64_t mixed = (event.written.previous_address ^ place * 0xA0761D6478BD642FULL) *
                               0x9E3779B97F4A7C15ULL;
        return static_cast<uint32_t>(
            (mixed ^ mixed >> 32U ^ event.requested_bytes) * 0xD6E8FEB86659FD93ULL >> 32U);
    }

    static constexpr uint32_t kLongestRound = 1U << 16;
    static constexpr uint32_t kPlaces = kLongestRound;
    static constexpr uint32_t kRest = 7 * kLongestRound;
    static constexpr uint32_t kWorthOfOne = 8;  // surprises, an expected event

    Trail<ScriptedEvent, kLongestRound, kPlaces> trail_;
    uint32_t surprises_;     // more than were outweighed
    uint32_t left_to_rest_;  // surprises
};

}  // namespace peakline::record
