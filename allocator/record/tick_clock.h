// Time for the hot path: the processor's invariant time stamp counter, scaled to ticks of
// format::kTickNs since the recorder's start. Calibrated once (1 ms) and pulled back to
// CLOCK_MONOTONIC at every synchronise(). Not thread safe: used under the recorder's lock.
#pragma once

#include <cstdint>
#include <ctime>

namespace peakline::record {

__extension__ using Uint128 = unsigned __int128;

class TickClock {
public:
    // Takes a millisecond.
    void calibrate();
    // Removes the drift since the last call; the recorder does it once per chunk. Ticks never go
    // back: the writer takes a smaller tick as "the same time".
    [[gnu::noinline, gnu::cold]] void synchronise();

    // Note [Time of an event]
    // Reading the counter takes 16 ns on a virtual machine, a third of what else a record costs, so
    // up to kEventsPerReading records share one reading, as long as the kernel's coarse clock
    // (6 ns, no system call) stands still. A record's time is thus right within that many
    // records or within one beat of that clock (1 to 10 ms), whichever is less; their order is
    // always exact.
    uint64_t event_tick() {
        timespec coarse;  // NOLINT(cppcoreguidelines-pro-type-member-init): written at once
        clock_gettime(CLOCK_MONOTONIC_COARSE, &coarse);
        if (events_left_ == 0 || coarse.tv_nsec != coarse_ns_) {
            events_left_ = kEventsPerReading;
            coarse_ns_ = coarse.tv_nsec;
            event_tick_ = now_tick();
        }
        --events_left_;
        return event_tick_;
    }

    uint64_t now_tick() const {
        const uint64_t cycles = __builtin_ia32_rdtsc() - anchor_cycles_;
        const auto scaled = static_cast<Uint128>(cycles) * ticks_per_cycle_q40_;
        return anchor_tick_ + static_cast<uint64_t>(scaled >> 40);
    }

    uint64_t start_monotonic_ns() const { return start_monotonic_ns_; }
    uint64_t start_realtime_ns() const { return start_realtime_ns_; }

private:
    static constexpr uint32_t kEventsPerReading = 8;

    uint64_t event_tick_ = 0;
    int64_t coarse_ns_ = -1;
    uint32_t events_left_ = 0;
    uint64_t start_monotonic_ns_ = 0;
    uint64_t start_realtime_ns_ = 0;
    uint64_t first_cycles_ = 0;
    uint64_t anchor_cycles_ = 0;
    uint64_t anchor_tick_ = 0;
    uint64_t ticks_per_cycle_q40_ = 0;  // ticks a cycle, times 2^40
};

}  // namespace peakline::record
