// Time for the hot path: the processor's invariant time stamp counter, scaled to ticks of
// format::kTickNs since the recorder's start. Calibrated once (1 ms) and compared with
// CLOCK_MONOTONIC every second or two. Not thread safe: used under the recorder's lock.
#pragma once

#include <cstdint>

namespace peakline::record {

__extension__ using Uint128 = unsigned __int128;

class TickClock {
public:
    // Takes a millisecond.
    void calibrate();
    // Reading the counter takes 12 ns on a virtual machine. Checking whether the kernel's coarse
    // clock has changed takes as long, needs more code, and calls two libraries. Ticks never go
    // back.
    uint64_t event_tick() {
        const uint64_t cycles = __builtin_ia32_rdtsc() - anchor_cycles_;
        if (__builtin_expect(cycles >= kMostCycles, 0)) {
            synchronise_slow();
            return anchor_tick_;
        }
        return tick_at(cycles);
    }

    uint64_t now_tick() const { return tick_at(__builtin_ia32_rdtsc() - anchor_cycles_); }

    uint64_t start_monotonic_ns() const { return start_monotonic_ns_; }
    uint64_t start_realtime_ns() const { return start_realtime_ns_; }

private:
    static constexpr uint64_t kMostCycles = uint64_t{1} << 32;  // between two synchronisations

    // `cycles`: since the anchor.
    uint64_t tick_at(uint64_t cycles) const {
        const auto scaled = static_cast<Uint128>(cycles) * ticks_per_cycle_q40_;
        return anchor_tick_ + static_cast<uint64_t>(scaled >> 40);
    }
    // Removes the drift since the last call.
    [[gnu::noinline, gnu::cold]] void synchronise_slow();

    uint64_t anchor_cycles_ = 0;
    uint64_t anchor_tick_ = 0;
    uint64_t ticks_per_cycle_q40_ = 0;  // ticks per cycle, times 2^40
    uint64_t start_monotonic_ns_ = 0;
    uint64_t start_realtime_ns_ = 0;
    uint64_t first_cycles_ = 0;
};

}  // namespace peakline::record
