#include "tick_clock.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

#include "allocator/record/format/trace_format.h"

namespace peakline::record {
namespace {

constexpr uint64_t kCalibrationNs = 1'000'000;

uint64_t read_clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

struct Reading {
    uint64_t ns;
    uint64_t cycles;
};

// Both clocks at one moment: of several tries the one with the fewest cycles around it. On a busy
// machine another process may run for milliseconds between two readings.
Reading read_both() {
    constexpr int kTries = 5;
    Reading best{};
    uint64_t fewest = UINT64_MAX;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t before = __builtin_ia32_rdtsc();
        const uint64_t ns = read_clock_ns(CLOCK_MONOTONIC);
        const uint64_t cycles = __builtin_ia32_rdtsc();
        if (cycles - before < fewest) {
            fewest = cycles - before;
            best = {ns, cycles};
        }
    }
    return best;
}

uint64_t ticks_per_cycle_q40(uint64_t elapsed_ns, uint64_t elapsed_cycles) {
    const auto scaled = static_cast<Uint128>(elapsed_ns) << 40;
    return static_cast<uint64_t>(scaled / format::kTickNs / elapsed_cycles);
}

}  // namespace

void TickClock::calibrate() {
    start_realtime_ns_ = read_clock_ns(CLOCK_REALTIME);
    const Reading first = read_both();
    start_monotonic_ns_ = first.ns;
    first_cycles_ = anchor_cycles_ = first.cycles;
    anchor_tick_ = 0;
    Reading now = first;
    while (now.ns - first.ns < kCalibrationNs) {
        now = read_both();
    }
    ticks_per_cycle_q40_ = ticks_per_cycle_q40(now.ns - first.ns, now.cycles - first.cycles);
}

void TickClock::synchronise_slow() {
    const Reading now = read_both();
    const uint64_t elapsed_ns = now.ns - start_monotonic_ns_;
    const uint64_t estimated = tick_at(now.cycles - anchor_cycles_);
    if (elapsed_ns > 2 * kCalibrationNs && now.cycles > first_cycles_) {
        ticks_per_cycle_q40_ = ticks_per_cycle_q40(elapsed_ns, now.cycles - first_cycles_);
    }
    anchor_cycles_ = now.cycles;
    // Never back: the tick of a peak would be another one than that of its event in the file.
    anchor_tick_ = std::max(elapsed_ns / format::kTickNs, estimated);
}

}  // namespace peakline::record
