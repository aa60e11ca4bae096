#include "tick_clock.h"

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

uint64_t ticks_per_cycle_q40(uint64_t elapsed_ns, uint64_t elapsed_cycles) {
    const auto scaled = static_cast<Uint128>(elapsed_ns) << 40;
    return static_cast<uint64_t>(scaled / format::kTickNs / elapsed_cycles);
}

}  // namespace

void TickClock::calibrate() {
    start_realtime_ns_ = read_clock_ns(CLOCK_REALTIME);
    start_monotonic_ns_ = read_clock_ns(CLOCK_MONOTONIC);
    first_cycles_ = anchor_cycles_ = __builtin_ia32_rdtsc();
    anchor_tick_ = 0;
    uint64_t now_ns = start_monotonic_ns_;
    while (now_ns - start_monotonic_ns_ < kCalibrationNs) {
        now_ns = read_clock_ns(CLOCK_MONOTONIC);
    }
    ticks_per_cycle_q40_ =
        ticks_per_cycle_q40(now_ns - start_monotonic_ns_, __builtin_ia32_rdtsc() - first_cycles_);
}

void TickClock::synchronise_slow() {
    const uint64_t elapsed_ns = read_clock_ns(CLOCK_MONOTONIC) - start_monotonic_ns_;
    const uint64_t cycles = __builtin_ia32_rdtsc();
    if (elapsed_ns > 2 * kCalibrationNs && cycles > first_cycles_) {
        ticks_per_cycle_q40_ = ticks_per_cycle_q40(elapsed_ns, cycles - first_cycles_);
    }
    anchor_cycles_ = cycles;
    anchor_tick_ = elapsed_ns / format::kTickNs;
}

}  // namespace peakline::record
