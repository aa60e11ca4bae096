// Events in windows of time, and the interval of an event: against brute force. Also the amount of
// kept state.
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "report/replay/values/level_meter.h"
#include "report/replay/values/phase_table.h"
#include "report/views/calls/phases.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::LevelMeter;
using report::LevelUse;

constexpr uint32_t kSlots = 3;

// Looks at every window for every event.
class BruteMeter {
public:
    void on_alloc(uint32_t slot, uint64_t bytes, uint64_t tick) {
        levels_[slot] += bytes;
        for (Window& window : windows_) {
            LevelUse& use = window.uses[slot];
            use.allocated_bytes += bytes;
            ++use.alloc_count;
            raise(use, slot, tick);
        }
    }
    void on_free(uint32_t slot, uint64_t bytes) {
        levels_[slot] -= bytes;
        for (Window& window : windows_) {
            window.uses[slot].freed_bytes += bytes;
            ++window.uses[slot].free_count;
        }
    }
    void trace(bool is_on, uint64_t tick) {
        is_traced_ = is_on;
        raise_all(tick);
    }
    void open(uint64_t tick) {
        Window& window = windows_.emplace_back();
        for (uint32_t slot = 0; slot < kSlots; ++slot) {
            window.uses[slot].begin_bytes = levels_[slot];
            raise(window.uses[slot], slot, tick);
        }
    }
    std::vector<LevelUse> close(size_t number) {
        std::vector<LevelUse> uses(windows_[number].uses.begin(), windows_[number].uses.end());
        for (uint32_t slot = 0; slot < kSlots; ++slot) {
            uses[slot].end_bytes = levels_[slot];
        }
        windows_.erase(windows_.begin() + static_cast<ptrdiff_t>(number));
        return uses;
    }

private:
    struct Window {
        std::array<LevelUse, kSlots> uses;
    };

    void raise(LevelUse& use, uint32_t slot, uint64_t tick) const {
        if (is_traced_ && levels_[slot] > use.peak_bytes) {
            use.peak_bytes = levels_[slot];
            use.peak_tick = tick;
        }
    }
    void raise_all(uint64_t tick) {
        for (Window& window : windows_) {
            for (uint32_t slot = 0; slot < kSlots; ++slot) {
                raise(window.uses[slot], slot, tick);
            }
        }
    }

    std::array<uint64_t, kSlots> levels_ = {};
    std::vector<Window> windows_;
    bool is_traced_ = false;
};

void check_same(const LevelUse& found, const LevelUse& wanted) {
    CHECK(found.begin_bytes == wanted.begin_bytes);
    CHECK(found.end_bytes == wanted.end_bytes);
    CHECK(found.peak_bytes == wanted.peak_bytes);
    CHECK(found.peak_tick == wanted.peak_tick);
    CHECK(found.allocated_bytes == wanted.allocated_bytes);
    CHECK(found.freed_bytes == wanted.freed_bytes);
    CHECK(found.alloc_count == wanted.alloc_count);
    CHECK(found.free_count == wanted.free_count);
}

TEST_CASE("windows that open and close in any order equal a brute-force count",
          "[report][phases]") {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        LevelMeter meter;
        BruteMeter brute;
        std::vector<LevelMeter::Window> windows;
        std::vector<std::pair<uint32_t, uint64_t>> blocks;
        // Compared at the end as well: later events must not change them.
        std::vector<std::pair<report::LevelUses, std::vector<LevelUse>>> closed;
        for (uint64_t tick = 1; tick < 200; ++tick) {
            const uint32_t dice = random() % 20;
            if (dice < 8) {
                blocks.emplace_back(random() % kSlots, random() % 100);
                meter.on_alloc(blocks.back().first, blocks.back().second, tick);
                brute.on_alloc(blocks.back().first, blocks.back().second, tick);
            } else if (dice < 13 && !blocks.empty()) {
                meter.on_free(blocks.back().first, blocks.back().second);
                brute.on_free(blocks.back().first, blocks.back().second);
                blocks.pop_back();
            } else if (dice < 17) {
                windows.push_back(meter.open(tick));
                brute.open(tick);
            } else if (dice < 19 && !windows.empty()) {
                const size_t place = random() % windows.size();
                closed.emplace_back(meter.close(windows[place]), brute.close(place));
                windows.erase(windows.begin() + static_cast<ptrdiff_t>(place));
                for (uint32_t slot = 0; slot < kSlots; ++slot) {
                    check_same(closed.back().first.of(slot), closed.back().second[slot]);
                }
            } else {
                const bool is_on = random() % 2 == 0;
                is_on ? meter.start_tracing(tick) : meter.stop_tracing();
                brute.trace(is_on, tick);
            }
        }
        for (const auto& [found, wanted] : closed) {
            for (uint32_t slot = 0; slot < kSlots; ++slot) {
                check_same(found.of(slot), wanted[slot]);
            }
        }
    }
}

TEST_CASE("consecutive windows add up", "[report][phases]") {
    LevelMeter meter;
    meter.start_tracing(0);
    meter.on_alloc(0, 10, 1);
    const auto first = meter.open(2);
    meter.on_alloc(0, 30, 3);
    report::LevelUses both = meter.close(first);
    meter.on_free(0, 5);  // between them
    const auto second = meter.open(5);
    meter.on_alloc(0, 1, 6);
    meter.on_free(0, 20);
    both.append(meter.close(second));
    const LevelUse use = both.of(0);
    CHECK(use.begin_bytes == 10);
    CHECK(use.end_bytes == 16);
    CHECK(use.peak_bytes == 40);
    CHECK(use.peak_tick == 3);
    CHECK(use.allocated_bytes == 31);
    CHECK(use.freed_bytes == 20);
}

TEST_CASE("a window costs nothing for the devices that do not change in it", "[report][phases]") {
    constexpr uint32_t kDevices = 64;
    constexpr uint64_t kWindows = 10'000;
    for (const bool is_nested : {false, true}) {
        LevelMeter meter;
        meter.start_tracing(0);
        std::vector<LevelMeter::Window> open;
        for (uint64_t i = 0; i < kWindows; ++i) {
            open.push_back(meter.open(i));
            meter.on_alloc(i % kDevices, 512, i);
            if (!is_nested) {
                meter.close(open.back());
            }
        }
        // One for each allocation, however many devices there are and windows are open.
        CHECK(meter.record().entry_count() == kWindows);
    }
}

// ---- intervals ----------------------------------------------------------------------------------

// Some that nest, of two threads, in order of their begin.
std::vector<report::PhaseInterval> random_intervals(std::mt19937& random) {
    std::vector<report::PhaseInterval> all;
    std::vector<uint32_t> open[2];
    for (uint64_t event = 0; event < 60; ++event) {
        const uint32_t thread = random() % 2;
        std::vector<uint32_t>& own = open[thread];
        if (random() % 2 == 0) {
            report::PhaseInterval& one = all.emplace_back();
            one.name = std::string(1, static_cast<char>('a' + random() % 4));
            one.thread = thread;
            one.parent = own.empty() ? report::kNoInterval : own.back();
            one.begin_event = event;
            one.end_event = 60;
            own.push_back(static_cast<uint32_t>(all.size() - 1));
        } else if (!own.empty()) {
            // Regions that the program names may end before those in them.
            const size_t place = random() % 3 == 0 ? random() % own.size() : own.size() - 1;
            all[own[place]].end_event = event;
            own.erase(own.begin() + static_cast<ptrdiff_t>(place));
        }
    }
    return all;
}

TEST_CASE("the interval of an event is the innermost one with the latest beginning",
          "[report][phases]") {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto intervals = random_intervals(random);
        const report::IntervalIndex index(intervals);
        for (uint32_t thread = 0; thread < 3; ++thread) {
            for (uint64_t event = 0; event < 62; ++event) {
                uint32_t wanted = report::kNoInterval;
                for (uint32_t i = 0; i < intervals.size(); ++i) {
                    const bool has_begun = intervals[i].begin_event <= event;
                    wanted = has_begun && intervals[i].thread == thread ? i : wanted;
                }
                while (wanted != report::kNoInterval && intervals[wanted].end_event <= event) {
                    wanted = intervals[wanted].parent;
                }
                CHECK(index.find(thread, event) == wanted);
            }
        }
    }
}

TEST_CASE("phases within one of the same name count once, however deep", "[report][phases]") {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed);
        const auto intervals = random_intervals(random);
        std::map<std::string, uint64_t> wanted;
        for (const report::PhaseInterval& one : intervals) {
            uint32_t around = one.parent;
            while (around != report::kNoInterval && intervals[around].name != one.name) {
                around = intervals[around].parent;
            }
            wanted[one.name] += around == report::kNoInterval ? 1 : 0;
        }
        std::map<std::string, uint64_t> found;
        for (const report::PhaseTotal& total : report::total_phases(intervals, 0)) {
            found[total.name] = total.count;
        }
        CHECK(found == wanted);
    }
}

}  // namespace
}  // namespace peakline::test
