#include "allocator/record/levels/peak_tracker.h"

#include <map>
#include <random>

#include "tests/unit/catching.h"

using peakline::record::LiveBlock;
using peakline::record::PeakTracker;

namespace {

// The oracle: copies the whole live map at every new maximum.
struct BruteForce {
    std::map<uint64_t, LiveBlock> live;
    std::map<uint64_t, LiveBlock> at_peak;
    uint64_t level = 0;
    uint64_t peak = 0;
    bool tracing = false;

    void check_peak() {
        if (tracing && level > peak) {
            peak = level;
            at_peak = live;
        }
    }
};

std::map<uint64_t, LiveBlock> peak_set(const PeakTracker& tracker, const BruteForce& brute) {
    std::map<uint64_t, LiveBlock> found;
    for (const auto& [ordinal, block] : brute.live) {
        if (tracker.was_live_at_peak(block.ordinal)) {
            found[ordinal] = block;
        }
    }
    for (const LiveBlock& block : tracker.freed_since_peak()) {
        found[block.ordinal] = block;
    }
    return found;
}

}  // namespace

TEST_CASE("peak and peak set equal a copy of the live map at every new maximum", "[record]") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 2000; ++round) {
        PeakTracker tracker;
        REQUIRE(tracker.init(4096));
        BruteForce brute;
        uint64_t next = 0;
        for (int event = 0; event < 200; ++event) {
            const uint64_t choice = random() % 100;
            if (choice < 4) {
                // Ranges start and stop; the level at a start counts.
                if (brute.tracing) {
                    tracker.stop();
                    brute.tracing = false;
                } else {
                    tracker.start(next - 1, next > 0, 0);
                    brute.tracing = true;
                    brute.check_peak();
                }
            } else if (choice < 55 || brute.live.empty()) {
                const uint64_t bytes = (random() % 5) * 512;  // ties and empty blocks on purpose
                const LiveBlock block{(next + 1) * 512, next, bytes, bytes, 1, 0, 0, 0};
                brute.live[next] = block;
                brute.level += bytes;
                tracker.on_alloc(next, bytes, 0);
                ++next;
                brute.check_peak();
            } else {
                auto victim =
                    std::next(brute.live.begin(), static_cast<long>(random() % brute.live.size()));
                tracker.on_free(victim->second, victim->second.block_bytes);
                brute.level -= victim->second.block_bytes;
                brute.live.erase(victim);
            }
            REQUIRE(tracker.level_bytes() == brute.level);
        }
        REQUIRE(tracker.peak_bytes() == brute.peak);
        const auto found = peak_set(tracker, brute);
        uint64_t sum = 0;
        for (const auto& [ordinal, block] : found) {
            sum += block.block_bytes;
        }
        if (brute.peak > 0) {
            REQUIRE(sum == brute.peak);
        }
    }
}

TEST_CASE("two blocks made and freed in turn peak together", "[record]") {
    PeakTracker tracker;
    REQUIRE(tracker.init(16));
    tracker.start(0, false, 0);
    const LiveBlock a{512, 0, 1000, 1000, 1, 0, 0, 0};
    const LiveBlock b{1024, 1, 1000, 1000, 2, 0, 0, 0};
    tracker.on_alloc(0, 1000, 1);
    tracker.on_alloc(1, 1000, 2);
    tracker.on_free(b, 1000);
    tracker.on_free(a, 1000);
    REQUIRE(tracker.peak_bytes() == 2000);
    REQUIRE(tracker.freed_since_peak().size() == 2);
    REQUIRE(tracker.total_allocated_bytes() == 2000);
}
