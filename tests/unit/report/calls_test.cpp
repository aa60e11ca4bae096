// Calls of operators and modules, and what layers hold.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/attribute/call_rules.h"
#include "report/replay/calls/call_replay.h"
#include "report/replay/phases/phase_replay.h"
#include "report/views/calls/layers.h"
#include "report/views/calls/operator_series.h"
#include "report/views/calls/stages.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

const std::string kCall = "/v/torch/nn/modules/module.py:9:Module._call_impl@";
const std::string kNames =
    "instance 1 Model root=Model\n instance 2 Linear root=Model path=a\n"
    "instance 3 Linear root=Model path=b\n";

// In the forward pass of one module, or of one in another: "1", "2;1".
std::string in(const std::string& modules, const std::string& line = "m.py:1:f") {
    std::string stack = "thread=1 stack=" + line;
    for (const char module : modules) {
        stack += module == ';' ? std::string() : ";" + kCall + module;
    }
    return stack;
}

std::string backward_of(const std::string& modules) {
    return "thread=2 op=MmBackward0 forward=" +
           in(modules).substr(std::string("thread=1 stack=").size());
}

std::string alloc(const std::string& block, const std::string& how) {
    return "alloc " + block + " " + how + "\n";
}

struct Calls {
    explicit Calls(const std::string& text, size_t most_waiting = 1000) : trace(text) {
        report::StackLookup stacks(trace.reader.definitions(), {});
        phases = report::replay_phases(trace.reader, stacks.phase_rules(), {});
        rules = report::make_call_rules(stacks, report::CallNames::kLayersAndOperators);
        report::CallRequest request;
        request.moments = report::stage_moments(phases.table);
        request.on_operator = [this](const auto& call) { operators.push_back(call); };
        request.on_layer = [this](const auto& call) { layer_calls.push_back(call); };
        request.most_waiting_operators = most_waiting;
        result = report::replay_calls(trace.reader, rules, request);
    }
    // "pre forward a 12 100": stage, module, allocated and reserved.
    std::vector<std::string> stages() const {
        std::vector<std::string> lines;
        for (const auto& row : all_stages(0).rows) {
            lines.push_back(std::string(row.stage) + " " + row.module + " " +
                            std::to_string(row.levels.allocated_bytes) + " " +
                            std::to_string(row.levels.reserved_bytes));
        }
        return lines;
    }
    report::Stages all_stages(uint64_t step_count) const {
        report::StagesBuilder builder(rules, phases.table, step_count);
        for (const auto& call : layer_calls) {
            builder.add(call);
        }
        return builder.take(result.moments);
    }
    report::OperatorSeries series(report::KeptPoints kept, uint64_t top) const {
        report::OperatorSeriesBuilder builder(rules, phases.table, kept, top);
        for (const auto& call : operators) {
            builder.add(call);
        }
        return builder.take();
    }
    std::vector<std::string> points() const {
        std::vector<std::string> lines;
        for (const auto& point : series(report::KeptPoints::kFirst, 0).points) {
            lines.push_back(report::point_name(point, rules) + " " +
                            std::to_string(point.call.after.allocated_bytes) + " " +
                            std::to_string(point.call.after.active_bytes));
        }
        return lines;
    }
    report::LayerUse layer(const std::string& name) const {
        for (const report::LayerRow& row : report::build_layers(result, rules)) {
            if (row.name == name) {
                return row.use;
            }
        }
        return {};
    }

    OpenTrace trace;
    report::PhaseResult phases;
    report::CallRules rules;
    std::vector<report::OperatorCall> operators;
    std::vector<report::LayerCall> layer_calls;
    report::CallResult result;
};

using Lines = std::vector<std::string>;

TEST_CASE("a module runs from its first allocation to its last", "[report][calls]") {
    const Calls calls(kNames + "start\n segment 0x0 100\n" +
                      alloc("x 1 1", "thread=1 stack=t.py:1:g") + alloc("h 2 2", in("2;1")) +
                      alloc("t 3 4", in("2;1", "m.py:2:f")) +
                      // Its own, so within it; x is not.
                      "free t\n free x\n segment 0x1000 50\n" + alloc("o 4 8", in("3;1")) +
                      alloc("l 5 16", "thread=1 stack=t.py:2:g") + "free o\n stop\n end\n");
    CHECK(calls.stages() == Lines{"pre forward Model 1 100",
                                  "pre forward a 1 100",
                                  "post forward a 3 100",
                                  "pre forward b 2 100",
                                  "post forward b 10 150",
                                  "post forward Model 10 150"});
}

TEST_CASE("backward passes and steps of the optimizer are stages", "[report][calls]") {
    const std::string engine = " 1 torch::autograd::Engine::execute\n";
    const std::string step = " 1 Optimizer.step#SGD.step\n";
    const Calls calls(kNames + "start\n" + alloc("h 1 1", in("2;1")) + "scope" + engine +
                      alloc("g 2 2", backward_of("2;1")) + "free h\n endscope" + engine + "scope" +
                      step + alloc("s 3 4", "thread=1 stack=/v/torch/optim/sgd.py:9:step") +
                      "endscope" + step + "stop\n end\n");
    CHECK(calls.stages() == Lines{"pre forward Model 0 0",
                                  "pre forward a 0 0",
                                  "post forward a 1 0",
                                  "post forward Model 1 0",
                                  "pre backward Model 1 0",
                                  "pre backward a 1 0",
                                  "post backward a 2 0",
                                  "post backward Model 2 0",
                                  "pre step optimizer 2 0",
                                  "post step optimizer 6 0"});
    CHECK_FALSE(calls.result.knows_reserved);
}

TEST_CASE("an operator's own temporaries end with it", "[report][calls]") {
    const Calls calls(kNames + "start\n" + alloc("w 1 1", in("2;1") + " op=X") +
                      alloc("o 2 2", in("2;1", "m.py:2:f")) + "free o\n free w\n" +
                      alloc("p 3 4", in("2;1", "m.py:3:f")) + "defer p\n" +
                      alloc("q 4 8", in("3;1")) + "complete p\n stop\n end\n");
    const Lines points = calls.points();
    REQUIRE(points.size() == 4);
    CHECK(points[1] == "a.forward.no operator: m.py:2 (f)_0 1 1");
    // Given up on one stream while another uses it.
    CHECK(points[2] == "a.forward.no operator: m.py:3 (f)_0 0 4");
    CHECK(points[3] == "b.forward.no operator: m.py:1 (f)_0 8 12");
}

TEST_CASE("the same line again is another call", "[report][calls]") {
    const Calls calls(kNames + "start\n" + alloc("a 1 1", in("2;1")) + alloc("b 2 2", in("2;1")) +
                      "stop\n end\n");
    CHECK(calls.points() == Lines{"a.forward.no operator: m.py:1 (f)_0 1 1",
                                  "a.forward.no operator: m.py:1 (f)_1 3 3"});
}

TEST_CASE("operators are listed by their beginning, even if another thread ends first",
          "[report][calls]") {
    const std::string other = "thread=3 stack=o.py:1:g";
    const Calls calls(kNames + "start\n" + alloc("z 1 16", in("2;1")) + alloc("a 2 1", other) +
                      alloc("b 3 2", in("2;1")) + alloc("c 4 4", in("2;1")) + "free a\n" +
                      alloc("d 5 8", "thread=3 stack=o.py:2:g") + "stop\n end\n");
    CHECK(calls.points() == Lines{"a.forward.no operator: m.py:1 (f)_0 16 16",
                                  "forward.no operator: o.py:1 (g)_0 16 16",
                                  "a.forward.no operator: m.py:1 (f)_1 19 19",
                                  "a.forward.no operator: m.py:1 (f)_2 23 23",
                                  "forward.no operator: o.py:2 (g)_0 30 30"});
}

TEST_CASE("a thread that allocates no more does not hold back the others", "[report][calls]") {
    constexpr int kCalls = 5000;
    std::string text = "start\n" + alloc("x 1 7", "thread=3 stack=o.py:1:g");
    for (int i = 0; i < kCalls; ++i) {
        text += alloc("b 2 1", "thread=1 stack=t.py:1:g") + "free b\n";
    }
    text += "free x\n stop\n end\n";
    // A free after the end of a call is not a free within it.
    const size_t most_waiting = GENERATE(100, 10'000);
    const Calls calls(text, most_waiting);
    REQUIRE(calls.operators.size() == kCalls + 1);
    CHECK(calls.operators.front().after.allocated_bytes == (most_waiting < kCalls ? 7 : 0));
    CHECK(std::is_sorted(
        calls.operators.begin(), calls.operators.end(), [](const auto& a, const auto& b) {
            return a.begin_event < b.begin_event;
        }));
}

TEST_CASE("the operators with the largest increases are kept", "[report][calls]") {
    std::string text = "start\n";
    for (const int bytes : {3, 9, 1, 9, 4}) {
        text += alloc("b" + std::to_string(text.size()) + " 1 " + std::to_string(bytes),
                      "thread=1 stack=t.py:1:g");
    }
    const Calls calls(text + "stop\n end\n");
    const auto indices = [&calls](report::KeptPoints kept, uint64_t top) {
        const report::OperatorSeries series = calls.series(kept, top);
        CHECK(series.point_count == 5);
        std::vector<uint64_t> found;
        for (const report::OperatorPoint& point : series.points) {
            found.push_back(point.index);
        }
        return found;
    };
    using Indices = std::vector<uint64_t>;
    CHECK(indices(report::KeptPoints::kLargest, 3) == Indices{1, 3, 4});
    CHECK(indices(report::KeptPoints::kLargest, 0) == Indices{1, 3, 4, 0, 2});
    CHECK(indices(report::KeptPoints::kFirst, 2) == Indices{0, 1});
    CHECK(indices(report::KeptPoints::kFirst, 0) == Indices{0, 1, 2, 3, 4});
}

TEST_CASE("stages of the first steps begin in these steps", "[report][calls]") {
    const std::string step = " 1 Optimizer.step#SGD.step\n";
    std::string text = kNames + "start\n";
    for (int i = 0; i < 3; ++i) {
        text +=
            alloc("h 1 1", in("2;1")) + "free h\n scope" + step +
            alloc("s" + std::to_string(i) + " 3 4", "thread=1 stack=/v/torch/optim/sgd.py:9:step") +
            "endscope" + step;
    }
    const Calls calls(text + "stop\n end\n");
    const report::Stages all = calls.all_stages(0);
    REQUIRE(all.rows.size() == 3 * 6);
    CHECK(all.row_count == all.rows.size());
    for (uint64_t steps = 1; steps <= 4; ++steps) {
        const report::Stages some = calls.all_stages(steps);
        CHECK(some.row_count == all.row_count);
        CHECK(some.rows.size() == 6 * std::min<uint64_t>(steps, 3));
        CHECK(some.rows.back().step.value_or(9) == std::min<uint64_t>(steps, 3) - 1);
    }
}

TEST_CASE("layers hold the blocks they make and the blocks of their tensors", "[report][calls]") {
    const Calls calls(kNames + "start\n segment 0x0 40\n" +
                      alloc("w 1 2", "thread=1 stack=/v/torch/nn/init.py:3:normal_") +
                      "tensor w parameter a.weight instance=2\n" + alloc("h 2 4", in("2;1")) +
                      alloc("t 3 8", in("3;1")) + "free t\n" + alloc("g 4 16", backward_of("2;1")) +
                      "free h\n stop\n end\n");
    const report::LayerUse a = calls.layer("a");
    CHECK(a.held_bytes == 18);
    CHECK(a.peak_held_bytes == 22);
    CHECK(a.alloc_count == 3);
    CHECK(a.free_count == 1);
    CHECK(a.backward_bytes == 16);
    CHECK(a.call_count == 1);
    CHECK(a.peak_allocated_bytes == 22);
    CHECK(a.peak_reserved_bytes == 40);
    // (40 - 6) / 40 at h and (40 - 22) / 40 at g.
    CHECK(a.fragmentation_sum == Approx(34.0 / 40 + 18.0 / 40));
    CHECK(calls.layer("b").peak_held_bytes == 8);
    CHECK(calls.layer("b").peak_allocated_bytes == 14);
    CHECK(calls.layer("Model").peak_held_bytes == 22);
}

}  // namespace
}  // namespace peakline::test
