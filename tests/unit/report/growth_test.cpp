// Growth: the rule on series of numbers, and levels at step ends against brute force.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "report/replay/totals/level_samples.h"
#include "report/views/growth/growth_fit.h"
#include "report/views/growth/growth_moments.h"
#include "report/views/growth/input_fit.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::GrowthFit;
using report::GrowthKind;
using Numbers = std::vector<int64_t>;

GrowthFit fit(const Numbers& bytes, const Numbers& counts) {
    return report::fit_growth({bytes, bytes, counts});
}

// Blocks of 100 bytes.
GrowthFit fit_blocks(const Numbers& counts) {
    Numbers bytes;
    for (const int64_t count : counts) {
        bytes.push_back(count * 100);
    }
    return fit(bytes, counts);
}

TEST_CASE("one more block in every step is growth from its first step", "[report][growth]") {
    const GrowthFit found = fit_blocks({0, 0, 0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(found.kind == GrowthKind::kGrows);
    CHECK(found.sample == 3);
    CHECK(found.bytes_per_sample == 100);
    CHECK(found.blocks_per_sample == 1);
    CHECK(found.gained_bytes == 700);
    CHECK(found.window == 1);
    CHECK_FALSE(found.is_replaced);
}

TEST_CASE("five steps are too few, six are enough", "[report][growth]") {
    CHECK(fit_blocks({0, 1, 2, 3, 4, 5}).kind == GrowthKind::kSteady);
    CHECK(fit_blocks({0, 1, 2, 3, 4, 5, 6}).kind == GrowthKind::kGrows);
}

TEST_CASE("a block in every fourth step is growth by a quarter of a block", "[report][growth]") {
    Numbers counts;
    for (int64_t i = 0; i <= 40; ++i) {
        counts.push_back(i / 4);
    }
    const GrowthFit found = fit_blocks(counts);
    CHECK(found.kind == GrowthKind::kGrows);
    CHECK(found.window == 4);
    CHECK(found.bytes_per_sample == 25);
}

TEST_CASE("the rate is the gain divided by the steps, in whole periods", "[report][growth]") {
    Numbers bytes = {0};
    for (int64_t i = 0; i < 25; ++i) {
        bytes.push_back(bytes.back() + (i % 2 == 0 ? 8 : 2));
    }
    Numbers counts(bytes.size());
    std::iota(counts.begin(), counts.end(), 0);
    CHECK(fit(bytes, counts).bytes_per_sample == 5);
    CHECK(fit(bytes, counts).blocks_per_sample == 1);
}

// Gains that repeat, anything that comes and goes with them, and warm-up before: the rate is the
// gain of a period, which the loop below adds up itself.
TEST_CASE("the rate of random periodic growth is that of one period", "[report][growth]") {
    std::mt19937 random(14);
    for (int series = 0; series < 2000; ++series) {
        const size_t period = 1 + random() % 5;
        int64_t gained_bytes = 0;
        int64_t gained_blocks = 0;
        std::vector<int64_t> gains;
        std::vector<int64_t> blocks;
        std::vector<int64_t> passing;
        for (size_t i = 0; i < period; ++i) {
            blocks.push_back(1 + static_cast<int64_t>(random() % 3));
            gains.push_back(blocks.back() * static_cast<int64_t>(1 + random() % 1000));
            passing.push_back(static_cast<int64_t>(random() % 300));
            gained_bytes += gains.back();
            gained_blocks += blocks.back();
        }
        Numbers bytes = {0, 50'000};  // made in the first step and kept
        Numbers counts = {0, 7};
        const size_t length = 12 * period + random() % 60;
        for (size_t i = 0; i < length; ++i) {
            bytes.push_back(bytes.back() + gains[i % period]);
            counts.push_back(counts.back() + blocks[i % period]);
        }
        for (size_t i = 0; i < length; ++i) {
            bytes[i + 2] += passing[i % period];
        }
        const GrowthFit found = fit(bytes, counts);
        CAPTURE(series, period, length);
        REQUIRE(found.kind == GrowthKind::kGrows);
        REQUIRE(found.bytes_per_sample ==
                Approx(static_cast<double>(gained_bytes) / static_cast<double>(period)));
        REQUIRE(found.blocks_per_sample ==
                Approx(static_cast<double>(gained_blocks) / static_cast<double>(period)));
    }
}

TEST_CASE("warm-up in the line that grows is not in its rate", "[report][growth]") {
    std::mt19937 random(15);
    Numbers bytes = {0, 900'000};
    Numbers counts = {0, 9};
    double gained = 0;
    for (int64_t i = 0; i < 40; ++i) {
        const auto gain = static_cast<int64_t>(1 + random() % 1000);
        bytes.push_back(bytes.back() + gain);
        counts.push_back(counts.back() + 1);
        gained += static_cast<double>(gain);
    }
    CHECK(fit(bytes, counts).bytes_per_sample == Approx(gained / 40).epsilon(0.05));
}

TEST_CASE("warm-up is no growth, and does not hide growth", "[report][growth]") {
    CHECK(fit_blocks({0, 9, 30, 31, 31, 31, 31, 31, 31, 31}).kind == GrowthKind::kLevelledOff);
    CHECK(fit_blocks({0, 50, 20, 31, 32, 33, 34, 35, 36, 37, 38, 51}).kind == GrowthKind::kGrows);
}

TEST_CASE("a cache that is full has levelled off", "[report][growth]") {
    const GrowthFit found = fit_blocks({0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8});
    CHECK(found.kind == GrowthKind::kLevelledOff);
    CHECK(found.level_bytes == 800);
    CHECK(found.sample == 8);
    // One that is made in the first step is as steady as the model.
    CHECK(fit_blocks({0, 8, 8, 8, 8, 8, 8, 8, 8, 8}).kind == GrowthKind::kSteady);
}

TEST_CASE("growth that slows down is filling up", "[report][growth]") {
    Numbers counts;
    for (int64_t i = 0; i <= 40; ++i) {
        counts.push_back(1'000'000 - 1'000'000 / (1 + i * i));
    }
    CHECK(fit_blocks(counts).kind != GrowthKind::kGrows);
}

TEST_CASE("a level that falls at once and rises again returns", "[report][growth]") {
    Numbers counts;
    for (int64_t i = 0; i < 34; ++i) {
        counts.push_back(i % 8);
    }
    CHECK(fit_blocks(counts).kind == GrowthKind::kReturns);
    CHECK(fit_blocks(counts).fall_count == 4);
    // Also when the run ends before the fall.
    counts = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(fit_blocks(counts).kind != GrowthKind::kGrows);
}

TEST_CASE("one block that is replaced by larger ones grows after twelve steps",
          "[report][growth]") {
    Numbers bytes;
    for (int64_t i = 0; i < 12; ++i) {
        bytes.push_back(1000 + 10 * i);
    }
    CHECK(fit(bytes, Numbers(12, 1)).kind == GrowthKind::kSteady);
    bytes.push_back(1120);
    const GrowthFit found = fit(bytes, Numbers(13, 1));
    CHECK(found.kind == GrowthKind::kGrows);
    CHECK(found.is_replaced);
    CHECK(found.bytes_per_sample == 10);
}

TEST_CASE("the allocator's rounding hides no growth", "[report][growth]") {
    Numbers requested;
    Numbers rounded;
    for (int64_t i = 0; i < 24; ++i) {
        requested.push_back(100 * i + 1);
        rounded.push_back((requested.back() + 999) / 1000 * 1000);
    }
    const GrowthFit found = report::fit_growth({rounded, requested, Numbers(24, 1)});
    CHECK(found.kind == GrowthKind::kGrows);
    CHECK(found.gained_bytes == rounded.back() - rounded.front());
}

// Sizes and numbers of blocks of any kind of batches: chance must not look like growth.
TEST_CASE("random levels hardly ever grow", "[report][growth]") {
    std::mt19937 random(11);
    int false_alarms = 0;
    constexpr int kSeries = 20'000;
    for (int series = 0; series < kSeries; ++series) {
        Numbers bytes;
        const size_t length = 7 + random() % 120;
        for (size_t i = 0; i < length; ++i) {
            bytes.push_back(static_cast<int64_t>(1000 + random() % 100'000));
        }
        false_alarms += fit(bytes, Numbers(length, 1)).kind == GrowthKind::kGrows ? 1 : 0;
    }
    CHECK(false_alarms == 0);
}

TEST_CASE("growth shows through random levels above it", "[report][growth]") {
    std::mt19937 random(12);
    for (int series = 0; series < 200; ++series) {
        Numbers counts;
        for (int64_t i = 0; i < 200; ++i) {
            counts.push_back(i + static_cast<int64_t>(random() % 6));
        }
        const GrowthFit found = fit_blocks(counts);
        REQUIRE(found.kind == GrowthKind::kGrows);
        CHECK(found.bytes_per_sample > 70);
        CHECK(found.bytes_per_sample < 130);
    }
}

// Levels made of known parts: bytes that follow the inputs, bytes kept of every step, bytes kept of
// every element. The fit must find the parts that are present, and the part that follows the
// inputs.
TEST_CASE("a leak is found beside inputs, whatever their lengths", "[report][growth]") {
    std::mt19937 random(16);
    for (int series = 0; series < 2000; ++series) {
        const size_t length = 14 + random() % 60;
        const auto per_element = static_cast<int64_t>(1 + random() % 4000);
        const auto per_square = static_cast<int64_t>(random() % 2 == 0 ? 0 : 1 + random() % 8);
        const auto per_step = static_cast<int64_t>(random() % 3 == 0 ? 1 + random() % 999 : 0);
        const bool keeps_elements = random() % 3 == 0;
        Numbers inputs(1, 0);
        for (size_t i = 0; i < length; ++i) {
            inputs.push_back(static_cast<int64_t>(64 + random() % 1400));
        }
        if (random() % 2 == 0) {
            std::sort(inputs.begin(), inputs.end());
        }
        Numbers following(1, 0);
        Numbers levels(1, 0);
        int64_t kept = 0;
        for (size_t i = 1; i <= length; ++i) {
            kept += per_step * 1024 + (keeps_elements ? inputs[i] * 4096 : 0);
            following.push_back(per_element * inputs[i] + per_square * inputs[i] * inputs[i]);
            levels.push_back(100'000 + following.back() + kept);
        }
        CAPTURE(series, length, per_element, per_square, per_step, keeps_elements);
        const auto found = report::fit_inputs(levels, inputs);
        REQUIRE(found.has_value());
        const bool has_leak = per_step != 0 || keeps_elements;
        REQUIRE((found->part == report::InputPart::kSome) == has_leak);
        for (size_t i = 2; i <= length; ++i) {
            const int64_t gain = found->explained[i] - found->explained[1];
            const auto slack = has_leak ? 0.05 : 0.0;
            REQUIRE(std::abs(static_cast<double>(gain - (following[i] - following[1]))) <=
                    1024 +
                        slack * static_cast<double>(std::abs(following[i] - following[1]) + kept));
        }
    }
}

TEST_CASE("the effect of evenly rising inputs is unclear", "[report][growth]") {
    Numbers inputs = {0};
    Numbers levels = {0};
    for (int64_t i = 1; i <= 24; ++i) {
        inputs.push_back(64 + 60 * i);
        levels.push_back(9000 + 500 * inputs.back());
    }
    CHECK(report::fit_inputs(levels, inputs)->part == report::InputPart::kUnclear);
    inputs[20] += 7;
    levels[20] += 7 * 500;
    CHECK(report::fit_inputs(levels, inputs)->part == report::InputPart::kAll);
}

TEST_CASE("independent levels are not explained by inputs", "[report][growth]") {
    std::mt19937 random(17);
    for (int series = 0; series < 2000; ++series) {
        Numbers inputs = {0};
        Numbers levels = {0};
        const size_t length = 12 + random() % 60;
        for (size_t i = 0; i < length; ++i) {
            inputs.push_back(static_cast<int64_t>(64 + random() % 1400));
            levels.push_back(levels.back() + static_cast<int64_t>(1 + random() % 1'000'000));
        }
        REQUIRE_FALSE(report::fit_inputs(levels, inputs).has_value());
    }
}

// Levels by stack where steps end, as a map of all live blocks has them.
TEST_CASE("levels at the ends of steps equal a brute-force count", "[report][growth]") {
    std::mt19937 random(13);
    std::string text = "start\n";
    std::map<int, std::pair<int, int64_t>> live;  // by name: line and bytes
    std::vector<std::map<int, int64_t>> expected;
    std::vector<uint64_t> bounds;
    uint64_t event_count = 1;
    for (int i = 0; i < 2000; ++i) {
        if (i % 50 == 49) {
            std::map<int, int64_t> levels;
            for (const auto& [name, block] : live) {
                levels[block.first] += block.second;
            }
            expected.push_back(levels);
            bounds.push_back(event_count);
        }
        if (live.empty() || random() % 5 < 3) {
            const int line = 1 + static_cast<int>(random() % 7);
            const auto bytes = static_cast<int64_t>(1 + random() % 1000);
            text += "alloc b" + std::to_string(i) + " " + std::to_string(4096 + i * 4096) + " " +
                    std::to_string(bytes) + " stack=t.py:" + std::to_string(line) + ":f\n";
            live[i] = {line, bytes};
        } else {
            const auto at = std::next(live.begin(), static_cast<long>(random() % live.size()));
            text += "free b" + std::to_string(at->first) + "\n";
            live.erase(at);
        }
        ++event_count;
    }
    const OpenTrace trace(text + "stop\nend\n");
    report::BlockStream stream(trace.reader);
    report::SampleQuestion question;
    question.bounds = bounds;
    report::LevelSampler sampler(question);
    stream.run({}, sampler);
    const report::LevelSamples samples = sampler.finish(stream.end());
    REQUIRE(samples.ends.size() == expected.size());
    const report::Definitions& definitions = trace.reader.definitions();
    std::map<int, int64_t> levels;
    size_t begin = 0;
    for (size_t sample = 0; sample < expected.size(); ++sample) {
        for (; begin < samples.ends[sample]; ++begin) {
            const report::SlotChange& change = samples.changes[begin];
            const uint32_t node = definitions.contexts[change.slot].python_node;
            const uint32_t frame = definitions.python_nodes[node].frame;
            levels[static_cast<int>(definitions.python_frames[frame].line)] += change.bytes;
        }
        std::erase_if(levels, [](const auto& level) { return level.second == 0; });
        CHECK(levels == expected[sample]);
    }
}

TEST_CASE("a run of very many steps is sampled at every n-th end, the last one included",
          "[report][growth]") {
    report::PhaseTable table;
    table.step_source = report::StepSource::kOptimizer;
    for (uint64_t i = 0; i < 5000; ++i) {
        report::PhaseInterval& step = table.steps.emplace_back();
        step.begin_event = 10 * i;
        step.end_event = 10 * i + 10;
    }
    const report::GrowthMoments moments = report::growth_moments(table, 60'000);
    CHECK(moments.units_per_sample == 10);
    CHECK(moments.bounds.size() == 501);
    CHECK(moments.bounds.front() == 0);
    CHECK(moments.bounds[1] == 100);
    CHECK(moments.bounds.back() == 50'000);
    CHECK(moments.first_units[2] == 10);
}

}  // namespace
}  // namespace peakline::test
