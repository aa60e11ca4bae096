// The highest level since the last call, against a sum by hand. Both readers of it, the program and
// the step history, see every level.
#include <algorithm>
#include <utility>
#include <vector>

#include "random_program.h"

namespace peakline::test {
namespace {

using record::Keep;
using Reader = Recorder::PeakReader;

// Blocks of random sizes that come and go, and their highest level since it was last asked for.
class Levels {
public:
    explicit Levels(Recorder& recorder) : recorder_(recorder) {}

    void change(int events) {
        for (int i = 0; i < events; ++i) {
            random_() % 2 == 0 ? add() : remove();
        }
    }
    uint64_t take_highest() { return std::exchange(highest_, level_); }

private:
    void add() {
        const uint64_t bytes = (random_() % 64 + 1) * 512;
        const auto device = static_cast<uint32_t>(random_() % 2);
        recorder_.record_alloc({++made_ * (1 << 20), bytes, bytes, 0, 0, device},
                               record::kUnknownTotal);
        live_.emplace_back(made_ * (1 << 20), bytes);
        level_ += bytes;
        highest_ = std::max(highest_, level_);
    }
    void remove() {
        if (live_.empty()) {
            return;
        }
        std::swap(live_[random_() % live_.size()], live_.back());
        recorder_.record_free(
            live_.back().first, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
        level_ -= live_.back().second;
        live_.pop_back();
    }

    Recorder& recorder_;
    std::mt19937_64 random_{7};
    std::vector<std::pair<uint64_t, uint64_t>> live_;
    uint64_t made_ = 0;
    uint64_t level_ = 0;
    uint64_t highest_ = 0;
};

void check_both_readers(Keep keep) {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), keep);
    Levels levels(*recorder);
    uint64_t of_steps = 0;
    for (int i = 0; i < 60; ++i) {
        levels.change(i * 10);
        const uint64_t highest = levels.take_highest();
        of_steps = std::max(of_steps, highest);
        CHECK(recorder->take_peak_bytes(Reader::kProgram) == highest);
        if (i % 4 == 3) {
            CHECK(recorder->take_peak_bytes(Reader::kStepHistory) == of_steps);
            of_steps = 0;
        }
    }
}

TEST_CASE("the highest level since the last call is exact, for each reader", "[record]") {
    check_both_readers({});
    check_both_readers({Keep::Kind::kPeak, 0});
}

TEST_CASE("without an open trace there is no highest level", "[record]") {
    const TemporaryFile file;
    const auto recorder = new_recorder();
    recorder->start_tracing();
    Levels levels(*recorder);
    levels.change(100);
    CHECK(recorder->take_peak_bytes(Reader::kProgram) == 0);
    REQUIRE(open_trace(*recorder, file.path(), {}) == 0);
    CHECK(recorder->take_peak_bytes(Reader::kProgram) ==
          recorder->level_bytes(0, Measure::kAllocated) +
              recorder->level_bytes(1, Measure::kAllocated));
}

}  // namespace
}  // namespace peakline::test
