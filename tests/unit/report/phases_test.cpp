// Phases and steps: from scopes, and from stacks alone.
#include "report/views/calls/phases.h"

#include <sstream>

#include "report/replay/phases/phase_replay.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

constexpr const char* kModule = "/v/torch/nn/modules/module.py:1798:Module._call_impl";
constexpr const char* kOptimizer = "/v/torch/optim/adam.py:100:step";

report::PhaseResult phases_of(const std::string& text, report::PhaseRequest request = {}) {
    const OpenTrace trace(text);
    return report::replay_phases(
        trace.reader, report::make_phase_rules(trace.reader.definitions()), std::move(request));
}

// "0 forward 100>300 peak 400 +350 -150", one line for each phase of device 0.
std::vector<std::string> lines(const std::vector<report::PhaseInterval>& intervals) {
    std::vector<std::string> found;
    for (const report::PhaseInterval& interval : intervals) {
        const report::LevelUse use = interval.uses.of(0);
        std::ostringstream line;
        line << (interval.step.has_value() ? std::to_string(*interval.step) : "-") << " "
             << std::string(interval.depth, '>') << interval.name << " " << use.begin_bytes << ">"
             << use.end_bytes << " peak " << use.peak_bytes << " +" << use.allocated_bytes << " -"
             << use.freed_bytes;
        found.push_back(line.str());
    }
    return found;
}

std::string forward(const std::string& words) {
    return "alloc " + words + " thread=1 stack=m.py:1:f;" + kModule + "\n";
}
std::string backward(const std::string& words) {
    return "alloc " + words + " thread=2 forward=m.py:1:f op=MulBackward0\n";
}
std::string other(const std::string& words) {
    return "alloc " + words + " thread=1 stack=train.py:5:main\n";
}
std::string optimizer(const std::string& words) {
    return "alloc " + words + " thread=1 stack=" + kOptimizer + "\n";
}

using Lines = std::vector<std::string>;
const std::string kEngine = " 1 torch::autograd::Engine::execute\n";
const std::string kStep = " 1 Optimizer.step#SGD.step\n";

TEST_CASE("scopes of torch bound phases and steps", "[report][phases]") {
    const std::string step = other("x 1 10") + forward("h 2 100") + forward("t 3 50") + "free t\n" +
                             other("loss 4 5") + "scope" + kEngine + backward("g 5 70") +
                             "free h\n endscope" + kEngine + "free x\n" + "scope" + kStep +
                             "endscope" + kStep + "free loss\n free g\n";
    const auto result = phases_of("start\n" + step + step + "stop\n end\n");
    CHECK(result.table.step_source == report::StepSource::kOptimizer);
    CHECK(result.table.last_step_ended);
    // The loss is made outside of every module and belongs to the forward pass all the same.
    CHECK(lines(result.table.phases) == Lines{"0 other 0>10 peak 10 +10 -0",
                                              "0 forward 10>115 peak 160 +155 -50",
                                              "0 backward 115>85 peak 185 +70 -100",
                                              "0 optimizer 75>75 peak 75 +0 -0",
                                              "1 other 0>10 peak 10 +10 -0",
                                              "1 forward 10>115 peak 160 +155 -50",
                                              "1 backward 115>85 peak 185 +70 -100",
                                              "1 optimizer 75>75 peak 75 +0 -0"});
    CHECK(lines(result.table.steps) ==
          Lines{"0  0>75 peak 185 +235 -160", "1  75>75 peak 185 +235 -235"});
}

TEST_CASE("a model on the CPU has steps without a block", "[report][phases]") {
    const std::string zero = " 1 Optimizer.zero_grad#SGD.zero_grad\n";
    const std::string step = "scope" + zero + "endscope" + zero + "scope" + kEngine + "endscope" +
                             kEngine + "scope" + kStep + "endscope" + kStep;
    const auto result = phases_of("start\n" + step + step + "stop\n end\n");
    CHECK(lines(result.table.phases) == Lines{"0 zero_grad 0>0 peak 0 +0 -0",
                                              "0 backward 0>0 peak 0 +0 -0",
                                              "0 optimizer 0>0 peak 0 +0 -0",
                                              "0 zero_grad 0>0 peak 0 +0 -0",
                                              "1 backward 0>0 peak 0 +0 -0",
                                              "1 optimizer 0>0 peak 0 +0 -0"});
}

TEST_CASE("frees between phases, and after the last, have their own rows", "[report][phases]") {
    const std::string text = "start\n" + forward("h 1 100") + "scope" + kEngine +
                             backward("g 2 70") + "endscope" + kEngine + "free h\n wait 100\n" +
                             "scope" + kStep + "endscope" + kStep + other("x 3 5") +
                             "free g\n mainend\n end\n";
    const report::PhaseResult result = phases_of(text);
    const report::DeviceTotals& device = result.devices.at(0);
    const auto rows = report::with_gaps(
        result.table.phases, device.device, {device.level_bytes, result.health.last_tick});
    CHECK(lines(rows) == Lines{"0 forward 0>100 peak 100 +100 -0",
                               "0 backward 100>170 peak 170 +70 -0",
                               "0 between phases 170>70 peak 170 +0 -100",
                               "0 optimizer 70>70 peak 70 +0 -0",
                               "- other 70>5 peak 75 +5 -70"});
    // Every byte of the level is in one row.
    int64_t level = 0;
    for (const report::PhaseInterval& row : rows) {
        const report::LevelUse use = row.uses.of(device.device);
        CHECK(use.begin_bytes == static_cast<uint64_t>(level));
        level += static_cast<int64_t>(use.allocated_bytes) - static_cast<int64_t>(use.freed_bytes);
    }
    CHECK(static_cast<uint64_t>(level) == device.level_bytes);
}

TEST_CASE("notes have the level of their moment, and there may be too many", "[report][phases]") {
    const report::PhaseResult some = phases_of("note early\n" + other("x 1 10") + "note between\n" +
                                               other("y 2 20") + "free x\nnote late\n");
    std::vector<uint64_t> levels;
    for (const report::TraceNote& note : some.notes) {
        levels.push_back(note.levels.of(0).end_bytes);
    }
    CHECK(levels == std::vector<uint64_t>{0, 10, 20});
    std::string many;
    for (size_t i = 0; i < report::PhaseResult::kMaxNotes + 5; ++i) {
        many += "note again\n";
    }
    const report::PhaseResult most = phases_of(many);
    CHECK(most.notes.size() == report::PhaseResult::kMaxNotes);
    CHECK(most.note_count == report::PhaseResult::kMaxNotes + 5);
}

TEST_CASE("without scopes the stacks decide", "[report][phases]") {
    const std::string step = forward("h 1 100") + backward("g 2 30") + "free h\n" +
                             optimizer("s 3 7") + other("x 4 1") + "free g\n free s\n free x\n";
    const auto result = phases_of("start\n" + step + step + "stop\n end\n");
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>100 peak 100 +100 -0",
                                              "0 backward 100>30 peak 130 +30 -100",
                                              "0 optimizer 30>37 peak 37 +7 -0",
                                              "1 other 37>0 peak 38 +1 -38",
                                              "1 forward 0>100 peak 100 +100 -0",
                                              "1 backward 100>30 peak 130 +30 -100",
                                              "1 optimizer 30>37 peak 37 +7 -0",
                                              "- other 37>0 peak 38 +1 -38"});
}

TEST_CASE("optimizers that step one after another make one step", "[report][phases]") {
    const std::string steps = "scope" + kStep + optimizer("s 3 7") + "endscope" + kStep + "scope" +
                              kStep + optimizer("t 4 5") + "endscope" + kStep;
    const auto result =
        phases_of("start\n" + forward("h 1 100") + steps + forward("i 2 100") + steps + "end\n");
    CHECK(lines(result.table.steps) ==
          Lines{"0  0>112 peak 112 +112 -0", "1  112>224 peak 224 +112 -0"});
}

TEST_CASE("a closure of the optimizer has the phases of a loop", "[report][phases]") {
    const std::string pass =
        forward("h 1 100") + "scope" + kEngine + backward("g 5 70") + "free h\n endscope" + kEngine;
    const auto with_passes = [&](const std::string& passes) {
        return "scope" + kStep + passes + optimizer("s 3 7") + "endscope" + kStep + "free s\n";
    };
    const std::string one = with_passes(pass + "free g\n");
    const auto result = phases_of("start\n" + one + one + "end\n");
    CHECK(result.table.step_source == report::StepSource::kOptimizer);
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>100 peak 100 +100 -0",
                                              "0 backward 100>70 peak 170 +70 -100",
                                              "0 optimizer 70>7 peak 70 +7 -70",
                                              "1 forward 0>100 peak 100 +100 -0",
                                              "1 backward 100>70 peak 170 +70 -100",
                                              "1 optimizer 70>7 peak 70 +7 -70"});
    // As L-BFGS does.
    const auto twice = phases_of("start\n" + with_passes(pass + "free g\n" + pass) + "end\n");
    CHECK(lines(twice.table.phases) == Lines{"0 forward 0>100 peak 100 +100 -0",
                                             "0 backward 100>70 peak 170 +70 -100",
                                             "0 forward 0>100 peak 100 +100 -0",
                                             "0 backward 100>70 peak 170 +70 -100",
                                             "0 optimizer 70>77 peak 77 +7 -0"});
    CHECK(twice.table.steps.size() == 1);
}

TEST_CASE("recomputation lies within the backward pass", "[report][phases]") {
    const std::string again =
        "alloc r 6 40 thread=2 op=CheckpointBackward stack=m.py:1:f;/v/torch/utils/"
        "checkpoint.py:9:unpack\n";
    const auto result =
        phases_of("start\n" + forward("h 1 100") + "scope" + kEngine + backward("g 2 30") + again +
                  backward("k 7 1") + "endscope" + kEngine + "stop\n end\n");
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>100 peak 100 +100 -0",
                                              "0 backward 100>171 peak 171 +71 -0",
                                              "0 >recomputation 130>170 peak 170 +40 -0"});
}

TEST_CASE("a backward pass ends when the gradient of the loss is freed", "[report][phases]") {
    const std::string ones =
        "alloc o 2 5 thread=1 stack=/v/torch/autograd/__init__.py:200:_make_grads\n";
    const auto result =
        phases_of("start\n" + forward("h 1 100") + ones + "scope" + kEngine + backward("g 3 30") +
                  "endscope" + kEngine + "free o\n free h\n" + other("x 4 1") + "stop\n end\n");
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>100 peak 100 +100 -0",
                                              "0 backward 100>130 peak 135 +35 -5",
                                              "0 other 30>31 peak 31 +1 -0"});
}

TEST_CASE("without training a forward pass is a step", "[report][phases]") {
    const std::string token = forward("h 1 100") + "free h\n" + other("t 2 4");
    const auto result = phases_of("start\n" + token + token + token + "stop\n end\n");
    CHECK(result.table.step_source == report::StepSource::kForward);
    CHECK(lines(result.table.steps) == Lines{"0  0>4 peak 100 +104 -100",
                                             "1  4>8 peak 104 +104 -100",
                                             "2  8>12 peak 108 +104 -100"});
}

TEST_CASE("passes directly one after another are separate", "[report][phases]") {
    const auto made = [](const std::string& words, int line) {
        return "alloc " + words + " thread=1 stack=m.py:" + std::to_string(line) + ":f;" + kModule +
               "\n";
    };
    const std::string pass = made("h 1 100", 1) + made("i 2 10", 2) + "free h\n free i\n";
    const auto result = phases_of("start\n" + pass + pass + pass + "stop\n end\n");
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>0 peak 110 +110 -110",
                                              "1 forward 0>0 peak 110 +110 -110",
                                              "2 forward 0>0 peak 110 +110 -110"});
    // Turns of a loop within a pass, which ends with something else, make no pass.
    const std::string turns = pass + pass + made("o 3 7", 3) + "free o\n";
    const auto looped = phases_of("start\n" + turns + turns + "stop\n end\n");
    CHECK(lines(looped.table.phases) ==
          Lines{"0 forward 0>0 peak 110 +227 -227", "1 forward 0>0 peak 110 +227 -227"});
    // For a backward pass they are one.
    const auto trained = phases_of("start\n" + pass + pass + "scope" + kEngine +
                                   backward("g 5 30") + "endscope" + kEngine + "stop\n end\n");
    CHECK(lines(trained.table.phases) ==
          Lines{"0 forward 0>0 peak 110 +220 -220", "0 backward 0>30 peak 30 +30 -0"});
}

TEST_CASE("regions that the program names nest independently of the phases", "[report][phases]") {
    const auto result = phases_of("start\n phase outer\n" + forward("h 1 100") + "scope 0 mine\n" +
                                  forward("i 2 10") + "free h\n endscope 0 mine\n" +
                                  "endphase outer\n stop\n end\n");
    CHECK(lines(result.table.named) ==
          Lines{"- outer 0>10 peak 110 +110 -100", "0 >mine 100>10 peak 110 +10 -100"});
    CHECK(lines(result.table.phases) == Lines{"0 forward 0>10 peak 110 +110 -100"});
}

TEST_CASE("generate() has a prefill and a decoding", "[report][phases]") {
    const std::string utils = ";/v/transformers/generation/utils.py:9:M.";
    const std::string sample = utils + "_sample" + utils + "generate";
    const auto made = [&](const std::string& words, const std::string& below) {
        return "alloc " + words + " thread=1 stack=m.py:1:f" + below + "\n";
    };
    const std::string text =
        "start\n" + other("x 1 5") +
        // The first allocations of _sample belong to the prefill.
        made("a 2 10", sample) + made("b 3 100", utils + "_prefill" + sample) +
        made("c 4 1000", sample) + "free c\n" + made("d 5 2000", sample) + other("y 6 7") +
        // Before transformers 5 there is no _prefill.
        made("e 7 20", utils + "_beam_search" + utils + "generate") + "phase mine\n" +
        made("f 8 40", ";train.py:1:_sample") + "endphase mine\n stop\n end\n";
    CHECK(lines(phases_of(text).table.named) == Lines{"- prefill 5>115 peak 115 +110 -0",
                                                      "- decode 115>2115 peak 2115 +3000 -1000",
                                                      "- decode 2122>2142 peak 2142 +20 -0",
                                                      "- mine 2142>2182 peak 2182 +40 -0"});
}

TEST_CASE("the peak of a phase of one step equals the peak in its row", "[report][phases]") {
    const std::string text = "start\n" + forward("h 1 100") + backward("g 2 30") + "free h\n" +
                             optimizer("s 3 7") + forward("i 4 200") + backward("k 5 30") +
                             "free i\n" + optimizer("u 6 7") + "stop\n end\n";
    const OpenTrace trace(text);
    CHECK(trace.replay("backward@0").blocks.level_bytes == 130);
    CHECK(trace.replay("backward@1").blocks.level_bytes == 267);
    CHECK(trace.replay("backward").blocks.level_bytes == 267);
    CHECK(trace.replay("step@0").blocks.level_bytes == 130);
    CHECK_THROWS_WITH(trace.replay("backward@2"), Catch::Contains("'backward@2' is not in"));
}

}  // namespace
}  // namespace peakline::test
