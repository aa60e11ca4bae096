// The keys that look at the life of a block: category, lifetime, step, who freed it.
#include <set>
#include <sstream>
#include <string>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

const std::string kForward = "thread=1 stack=m.py:1:f;/v/torch/nn/modules/module.py:9:M._call_impl";
const std::string kInit = "thread=1 stack=/v/torch/nn/init.py:3:normal_;m.py:2:build";
const std::string kOptimizer = "thread=1 stack=/v/torch/optim/adam.py:100:step";
const std::string kBackward = "thread=2 forward=m.py:1:f op=MmBackward0";
const std::string kOther = "thread=1 stack=train.py:5:main";
const std::string kEngine = " 1 torch::autograd::Engine::execute\n";
const std::string kStep = " 1 Optimizer.step#SGD.step\n";

std::string alloc(const std::string& block, const std::string& how) {
    return "alloc " + block + " " + how + "\n";
}

using Rows = std::set<std::string>;

// "parameter 1": key and bytes of each row.
Rows rows(const std::string& text, const std::string& by, const std::string& at = "peak") {
    const OpenTrace trace(text);
    report::ReportOptions options;
    options.selection.by = by;
    options.selection.at = at;
    const std::string lines = trace.rows(options.selection);
    Rows found;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) {
        const size_t key = line.rfind("  ");
        if (key != std::string::npos) {
            found.insert(line.substr(key + 2) + " " + std::to_string(std::stoll(line)));
        }
    }
    return found;
}

// One step of training; the peak is its last allocation of the backward pass.
const std::string kTraining =
    "start\n" + alloc("w 1 1", kInit) + alloc("x 2 2", kOther) + alloc("h 3 4", kForward) +
    "scope" + kEngine + alloc("d 4 8", kBackward) + alloc("g 5 16", kBackward) +
    "free d\n free h\n endscope" + kEngine + "scope" + kStep + alloc("s 6 32", kOptimizer) +
    alloc("t 7 64", kOptimizer) + alloc("u 8 1", kOptimizer) + "free t\n free u\n endscope" +
    kStep + "free g\n free x\n" + alloc("x2 9 2", kOther) + "stop\n end\n";

TEST_CASE("a category follows from the stack and the life of a block", "[report][lives]") {
    CHECK(rows(kTraining, "category", "backward") ==
          Rows{"parameter 1", "input 2", "activation 4", "temporary 8", "gradient 16"});
    CHECK(rows(kTraining, "category", "optimizer") ==
          Rows{"parameter 1", "input 2", "optimizer state 32", "temporary 65", "gradient 16"});
}

TEST_CASE("a block freed after the end of main was held to the end", "[report][lives]") {
    const std::string text = "start\n" + alloc("a 1 1", kOther) + alloc("b 2 2", kForward) +
                             "free a\n mainend\n free b\n" + alloc("c 3 8", kOther) +
                             "mainend\n end\n";
    CHECK(rows(text, "lifetime") == Rows{"held to the end 8"});
    CHECK(rows(text, "lifetime", "end") == Rows{"held to the end 2"});
    CHECK(rows(text, "freed-by", "end") == Rows{"still live at the end 2"});
    CHECK(rows(text, "lifetime", "forward") == Rows{"held to forward 1", "held to the end 2"});
}

TEST_CASE("reports of the objects come before the stack", "[report][lives]") {
    const std::string told = "start\n" + alloc("a 1 1", kForward) + alloc("b 2 2", kOther) +
                             alloc("c 3 4", kOther) + "alloc d 4 8 untraced\n" +
                             "tensor a parameter w\n tensor b buffer mean\n tensor d gradient w\n"
                             "stop\n end\n";
    CHECK(rows(told, "category") == Rows{"parameter 1", "buffer 2", "gradient 8", "input 4"});
}

TEST_CASE("blocks outside of all steps and phases are unknown", "[report][lives]") {
    CHECK(rows("start\n" + alloc("a 1 1", kOther) + "stop\n end\n", "category") ==
          Rows{"unknown 1"});
}

TEST_CASE("a block freed by the next pass of inference is not a cache for that reason alone",
          "[report][lives]") {
    const std::string text = "start\n" + alloc("k1 1 100", kForward) + alloc("o1 2 10", kForward) +
                             alloc("t1 3 1", kOther) + alloc("k2 4 200", kForward) + "free k1\n" +
                             alloc("o2 5 10", kForward) + "free o1\n" + alloc("t2 6 1", kOther) +
                             "stop\n end\n";
    CHECK(rows(text, "category", "step@0") == Rows{"kept 1", "temporary 110"});
}

TEST_CASE("a lifetime is the phase that a block was held to", "[report][lives]") {
    CHECK(rows(kTraining, "lifetime", "backward") == Rows{"held to the end 1",
                                                          "held beyond the phase 18",
                                                          "held to backward 4",
                                                          "freed within the phase 8"});
    const std::string zeroed = "start\n" + alloc("h 1 4", kForward) + alloc("g 2 8", kBackward) +
                               "scope" + kStep + "endscope" + kStep +
                               "scope 1 Optimizer.zero_grad#SGD\n free g\n"
                               "endscope 1 Optimizer.zero_grad#SGD\n" +
                               alloc("i 3 1", kForward) + "free h\n stop\n end\n";
    CHECK(rows(zeroed, "lifetime", "backward") ==
          Rows{"held to the optimizer 8", "held to a later step 4"});
}

TEST_CASE("a block is freed within its operator only if the operator still runs",
          "[report][lives]") {
    // One call, which allocates in three ways: its result and two blocks for itself.
    const std::string call = "start\n" + alloc("a 1 1", kForward + " native=1") +
                             alloc("b 2 2", kForward + " native=2") + "free b\n" +
                             alloc("c 3 4", kForward + " native=3") + "free c\n";
    CHECK(rows(call + alloc("d 4 8", kOther) + "stop\n end\n", "lifetime", "forward") ==
          Rows{"held to the end 1", "freed within the operator 4"});
    // The operator has returned when its only block is freed.
    const std::string returned = "start\n" + alloc("a 1 1", kForward) + "wait 1000\n free a\n" +
                                 alloc("b 2 2", kForward) + alloc("c 3 4", kForward) + "free b\n" +
                                 alloc("d 4 8", kOther) + "stop\n end\n";
    CHECK(rows(returned, "lifetime", "0") == Rows{"freed within the phase 1"});
    CHECK(rows(returned, "lifetime", "forward") ==
          Rows{"freed within the phase 2", "held to the end 4"});
}

TEST_CASE("the step of a row is the one that made its blocks", "[report][lives]") {
    CHECK(rows(kTraining, "step", "optimizer") == Rows{"step 0 115", "outside of all steps 1"});
}

TEST_CASE("without recorded frees the row has the phase of the free", "[report][lives]") {
    const Rows found = rows(kTraining, "freed-by", "backward");
    CHECK(found.count("still live at the end 1") == 1);
    CHECK(found.count("in backward 12") == 1);
}

TEST_CASE("a recorded free names its line", "[report][lives]") {
    const std::string made = "start\n" + alloc("a 1 1", kForward) + alloc("b 2 2", kForward) +
                             alloc("c 3 4", kForward) + alloc("d 4 8", kForward);
    const std::string freed =
        "free a stack=train.py:7:step;train.py:9:main thread=1\n"
        "free b forward=m.py:1:f op=MmBackward0 thread=2\n"
        "free c thread=3\n"
        "defer d stack=train.py:8:step thread=1\n" +
        alloc("e 5 1", kOptimizer) + "complete d\n stop\n end\n";
    CHECK(rows(made + freed, "freed-by", "forward") == Rows{"train.py:7 (step) 1",
                                                            "backward of m.py:1 (f) 2",
                                                            "no python frame, thread 300 4",
                                                            "train.py:8 (step) 8"});
    // Until another stream is done with it the block is part of `requested`, and is the same.
    const OpenTrace trace(made + freed);
    report::SelectionText selection;
    selection.by = "freed-by";
    selection.at = "forward";
    selection.measure = "requested";
    CHECK(trace.rows(selection).find("train.py:8 (step)") != std::string::npos);
}

TEST_CASE("a free in a lost context is shown as lost", "[report][lives]") {
    TraceBuilder builder;
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({0, 0, 0, 8, 0}), 0x1000);
    builder.free(0, 12345);
    builder.mark(format::MarkKind::kProcessEnd);
    const OpenTrace trace(builder.finish());
    report::SelectionText selection;
    selection.by = "freed-by";
    // Nothing was lost: the id is wrong, and the free has no line.
    CHECK(trace.rows(selection).rfind("8 B  8 B  8 B  1  between phases\n", 0) == 0);
}

}  // namespace
}  // namespace peakline::test
