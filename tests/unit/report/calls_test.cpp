// Calls of operators and modules, and what layers hold.
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "report/attribute/call_rules.h"
#include "report/replay/call_replay.h"
#include "report/views/call_series.h"
#include "report/views/layers.h"
#include "report_testing.h"

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
    explicit Calls(const std::string& text) : trace(text) {
        report::StackLookup stacks(trace.reader.definitions(), {});
        phases = report::replay_phases(trace.reader, stacks.phase_rules(), {});
        rules = report::make_call_rules(stacks, report::CallNames::kLayersAndOperators);
        report::CallRequest request;
        request.keeps_operators = request.keeps_layers = true;
        request.moments = report::stage_moments(phases.table);
        result = report::replay_calls(trace.reader, rules, request);
    }
    // "pre forward a 12 100": stage, module, allocated and reserved.
    std::vector<std::string> stages() const {
        std::vector<std::string> lines;
        for (const auto& row : report::build_stages(result, rules, phases.table)) {
            lines.push_back(std::string(row.stage) + " " + row.module + " " +
                            std::to_string(row.levels.allocated_bytes) + " " +
                            std::to_string(row.levels.reserved_bytes));
        }
        return lines;
    }
    std::vector<std::string> points() const {
        std::vector<std::string> lines;
        const auto series = report::build_operator_series(result, rules, phases.table);
        for (const auto& point : series.points) {
            lines.push_back(report::point_name(point, rules) + " " +
                            std::to_string(point.call->after.allocated_bytes) + " " +
                            std::to_string(point.call->after.active_bytes));
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

TEST_CASE("layers hold what they make and what their tensors are", "[report][calls]") {
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
