// What the next allocations and frees of a training loop will be. Used by the recorder under its
// lock; no malloc. Lives in memory that is zero, which is the empty state.
//
// Note [Script of the events]
// Every round of a loop gives the same blocks the same addresses in the same order. So what was
// done for an event is kept: in which place of the live set its block lies (it stays, see Note
// [Places that stay] in live_set.h) and how it was written to the trace. When the next event is
// the expected one, with the same address, sizes, context, stream and device, what is left to do
// is to count and to copy a few bytes: no look into the index of the live set, no class, no
// encoding. Nothing is believed that is not compared. A program without loops would only pay for
// what is written down: where eight of nine events are a surprise for a while, it rests for a
// while.
#pragma once

#include <bit>
#include <cstdint>

#include "follow_cache.h"
#include "trace_writer.h"

namespace peakline::record {

struct ScriptedEvent {
    uint32_t place;        // of the block, in LiveSet
    WrittenAlloc written;  // here and below: zeros in a free
    uint32_t context;
    uint32_t stream;
    uint32_t device;
    uint32_t unused;           // no padding: compared by its bytes
    uint64_t requested_bytes;  // 0: a free
    uint64_t block_bytes;

    bool is_shape_of(const AllocEvent& event) const {
        return requested_bytes == event.requested_bytes && block_bytes == event.block_bytes &&
               context == event.context && stream == event.stream && device == event.device;
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
    // Any event that was met, or one of zeros, a free of the block at the first place.
    const ScriptedEvent& expected() const { return trail_.expected(); }
    // The expected event has come.
    void follow() {
        surprises_ -= surprises_ >= kWorthOfOne ? kWorthOfOne : 0;
        trail_.follow();
    }
    // This one has come.
    void meet(const ScriptedEvent& event) {
        if (__builtin_expect(left_to_rest_ != 0, 0)) {
            --left_to_rest_;
            return;
        }
        trail_.meet(event, hash_of);
        if (++surprises_ == kLongestRound) {
            surprises_ = 0;
            left_to_rest_ = kRest;
        }
    }
    void meet_free(uint32_t place) {
        if (expected().place == place && expected().requested_bytes == 0) {
            follow();
        } else {
            ScriptedEvent event{};
            event.place = place;
            meet(event);
        }
    }
    // A new trace: what was written to another one means nothing there.
    void forget() { trail_.forget(); }
    // Fetches what is expected after the expected event.
    void prefetch() const { __builtin_prefetch(&expected() + 1); }

private:
    static uint32_t hash_of(const ScriptedEvent& event) {
        const uint64_t place = event.place | uint64_t{event.context} << 32U;
        const uint64_t mixed = (event.written.previous_address ^ place * 0xA0761D6478BD642FULL) *
                               0x9E3779B97F4A7C15ULL;
        return static_cast<uint32_t>(
            (mixed ^ mixed >> 32U ^ event.requested_bytes) * 0xD6E8FEB86659FD93ULL >> 32U);
    }

    static constexpr uint32_t kLongestRound = 1U << 16;
    static constexpr uint32_t kRest = 7 * kLongestRound;
    static constexpr uint32_t kWorthOfOne = 8;  // surprises, an expected event

    Trail<ScriptedEvent, kLongestRound> trail_;
    uint32_t surprises_;     // more than were outweighed
    uint32_t left_to_rest_;  // surprises
};

}  // namespace peakline::record
