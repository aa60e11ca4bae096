// Tables of small traces: moments, devices, measures, groupings.
#include "report/trace/file/trace_error.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::SelectionText;

constexpr const char* kTwoLines = R"(
    start
    alloc a 0x1000 2048 stack=/p/model.py:336:forward;/p/train.py:9:main class
    alloc b 0x2000 1024 stack=/p/model.py:336:forward;/p/train.py:9:main class
    alloc c 0x3000 4096 stack=/p/train.py:12:step
    free a
    free c
    stop
    end
)";

TEST_CASE("the table has exactly the documented form", "[report]") {
    const OpenTrace trace{std::string(kTwoLines)};
    CHECK(report_text(report::make_table, trace.reader, {}) ==
          "Max mem: 7.000 KB\n"
          "Total mem allocated: 7.000 KB\n"
          "Mem, Cumulative Mem, Median, Count, Location\n"
          "4.000 KB  4.000 KB  4.000 KB  1  /p/train.py:12 (step)\n"
          "3.000 KB  7.000 KB  1.500 KB  2  /p/model.py:336 (forward)\n");
}

TEST_CASE("a table cut by top ends with dots", "[report]") {
    const OpenTrace trace{std::string(kTwoLines)};
    report::ReportOptions options;
    options.top = 1;
    const std::string text = report_text(report::make_table, trace.reader, options);
    CHECK(text.substr(text.find("4.000 KB  4")) ==
          "4.000 KB  4.000 KB  4.000 KB  1  /p/train.py:12 (step)\n...\n");
}

TEST_CASE("a block freed right after the peak is part of the peak", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=f.py:1:f\n alloc b 2 100 stack=f.py:2:f\n"
        "free b\n free a\n stop\n end\n");
    CHECK(trace.replay().chosen.peak_bytes == 200);
    CHECK(trace.rows() ==
          "100 B  100 B  100 B  1  f.py:1 (f)\n100 B  200 B  100 B  1  f.py:2 (f)\n");
}

TEST_CASE("only levels inside traced ranges count, with the level at their start", "[report]") {
    const OpenTrace trace(
        "alloc a 1 1000 untraced\n alloc x 9 9000 untraced\n free x\n"
        "start\n alloc b 2 10 stack=f.py:1:f\n free b\n stop\n"
        "alloc c 3 5000 untraced\n free c\n end\n");
    const auto result = trace.replay();
    CHECK(result.chosen.peak_bytes == 1010);
    CHECK(result.chosen.total_allocated_bytes == 10);
    CHECK(trace.rows() ==
          "1000 B  1000 B  1000 B  1  untraced\n10 B  1010 B  10 B  1  f.py:1 (f)\n");
}

TEST_CASE("a deferred free leaves allocated at once and requested when completed", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 1024 req=1000 stack=f.py:1:f\n defer a\n"
        "alloc b 2 1024 req=600 stack=f.py:2:f\n complete a\n stop\n end\n");
    CHECK(trace.replay().chosen.peak_bytes == 1024);
    CHECK(trace.replay("peak", "", "requested").chosen.peak_bytes == 1600);
    CHECK(trace.replay("end").blocks.level_bytes == 1024);
    CHECK(trace.replay("end", "", "requested").blocks.level_bytes == 600);
}

TEST_CASE("the table at the end keeps the peak and shows what is live", "[report]") {
    const OpenTrace trace{std::string(kTwoLines)};
    const auto result = trace.replay("end");
    CHECK(result.chosen.peak_bytes == 7168);
    CHECK(result.blocks.level_bytes == 1024);
}

TEST_CASE("the table at a time shows the blocks that were live then", "[report]") {
    // A tick is 128 ns: 7812500 ticks are a second.
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=f.py:1:f\n wait 7812500\n"
        "alloc b 2 50 stack=f.py:2:f\n wait 7812500\n free a\n end\n");
    CHECK(trace.replay("0.5").blocks.level_bytes == 100);
    CHECK(trace.replay("1s").blocks.level_bytes == 150);
    CHECK(trace.replay("1.9").blocks.level_bytes == 150);
    CHECK(trace.replay("2").blocks.level_bytes == 50);
    CHECK_THROWS_WITH(trace.replay("2.001"), Catch::Contains("the trace ends at t=2.000 s"));
}

TEST_CASE("the peak of a phase counts every range of its name", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=f.py:1:f\n phase load\n"
        "alloc b 2 10 stack=f.py:2:f\n endphase load\n"
        "alloc c 3 900 stack=f.py:3:f\n free c\n phase load\n"
        "alloc d 4 30 stack=f.py:4:f\n free d\n endphase load\n stop\n end\n");
    const auto result = trace.replay("load");
    CHECK(result.chosen.peak_bytes == 1010);
    CHECK(result.blocks.level_bytes == 140);
    CHECK_THROWS_WITH(trace.replay("nowhere"),
                      Catch::Contains("phase 'nowhere' is not in this trace"));
}

TEST_CASE("the default device is the one with the highest peak", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 dev=0 stack=f.py:1:f\n free a\n"
        "alloc b 2 70 dev=1 stack=f.py:2:f\n alloc c 3 70 dev=1 stack=f.py:3:f\n"
        "alloc d 4 50 dev=0 stack=f.py:4:f\n stop\n end\n");
    CHECK(trace.replay().chosen.device == 1);
    CHECK(trace.replay().chosen.peak_bytes == 140);
    CHECK(trace.replay("peak", "0").chosen.peak_bytes == 100);
    const auto sum = trace.replay("peak", "all");
    CHECK(sum.chosen.peak_bytes == 190);
    CHECK(sum.blocks.level_bytes == 190);
    CHECK_THROWS_WITH(trace.replay("peak", "7"), Catch::Contains("devices in it: 0, 1"));
}

TEST_CASE("backward bytes belong to the forward line", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=m.py:5:forward\n"
        "alloc b 2 40 forward=m.py:5:forward op=MmBackward0\n"
        "alloc c 3 7 op=AccumulateGrad\n alloc d 4 6\n stop\n end\n");
    CHECK(trace.rows() ==
          "140 B  140 B  70 B  2  m.py:5 (forward)\n"
          "7 B  147 B  7 B  1  no python frame: AccumulateGrad\n"
          "6 B  153 B  6 B  1  no python frame\n");
    report::ReportOptions options;
    options.form = report::OutputForm::kJson;
    CHECK_THAT(report_text(report::make_table, trace.reader, options),
               Catch::Contains("\"backward_bytes\": 40"));
}

TEST_CASE("user frames pass over libraries and fall back to the leaf", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=/v/lib/python3.11/site-packages/torch/nn/functional.py:9:relu;"
        "/usr/lib/python3.11/runpy.py:4:run;/me/train.py:3:main\n"
        "alloc b 2 50 stack=/v/site-packages/torch/_tensor.py:7:to\n stop\n end\n");
    SelectionText user;
    user.frame = "user";
    CHECK(trace.rows(user) ==
          "100 B  100 B  100 B  1  /me/train.py:3 (main)\n"
          "50 B  150 B  50 B  1  torch/_tensor.py:7 (to)\n");
    SelectionText hide;
    hide.frame = "leaf";
    hide.hide = {"functional.py"};
    CHECK_THAT(trace.rows(hide), Catch::StartsWith("100 B  100 B  100 B  1  /usr/lib/python3.11/"));
}

TEST_CASE("the line that called torch passes over torch and wrappers", "[report]") {
    const std::string torch =
        "/v/lib/python3.11/site-packages/torch/nn/modules/linear.py:9:forward;";
    const std::string wrapper =
        "/v/lib/python3.11/site-packages/accelerate/hooks.py:4:new_forward;";
    const std::string model =
        "/v/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py:7:forward;";
    const std::string mover =
        "/v/lib/python3.11/site-packages/transformers/modeling_utils.py:3:cuda;";
    const OpenTrace trace("start\n alloc a 1 300 stack=" + torch + wrapper + model +
                          "/me/train.py:3:main\n alloc b 2 200 stack=" + torch + mover +
                          "/me/train.py:4:main\n alloc c 3 150 stack=/me/train.py:3:main op=x\n" +
                          "alloc d 4 90 stack=" + torch + "/usr/lib/python3.11/runpy.py:1:run\n" +
                          "stop\n end\n");
    CHECK(trace.rows() ==
          "300 B  300 B  300 B  1  transformers/models/gpt2/modeling_gpt2.py:7 (forward)"
          "  via linear.py:9 (forward)\n"
          "200 B  500 B  200 B  1  /me/train.py:4 (main)  via linear.py:9 (forward)\n"
          "150 B  650 B  150 B  1  /me/train.py:3 (main)  via x\n"
          "90 B  740 B  90 B  1  torch/nn/modules/linear.py:9 (forward)\n");
    SelectionText leaf;
    leaf.frame = "leaf";
    CHECK(trace.rows(leaf) ==
          "590 B  590 B  200 B  3  torch/nn/modules/linear.py:9 (forward)\n"
          "150 B  740 B  150 B  1  /me/train.py:3 (main)\n");
    leaf.frame = "moon";
    CHECK_THROWS_WITH(trace.rows(leaf), Catch::Contains("caller, leaf or user"));
}

TEST_CASE("a row names the operator of most of its bytes, and counts the others", "[report]") {
    const std::string torch = ";/v/site-packages/torch/a.py:1:f;/me/train.py:3:main";
    const OpenTrace trace("start\n alloc a 1 300 stack=/v/site-packages/torch/b.py:2:g" + torch +
                          "\n alloc b 2 200 stack=/v/site-packages/torch/c.py:2:h" + torch +
                          "\n alloc c 3 150 stack=/v/site-packages/torch/c.py:2:h" + torch +
                          "\n alloc d 4 10 stack=/me/train.py:3:main\n stop\n end\n");
    CHECK(trace.rows() ==
          "660 B  660 B  175 B  4  /me/train.py:3 (main)  via c.py:2 (h), +2 more\n");
    report::ReportOptions options;
    options.form = report::OutputForm::kJson;
    const std::string via =
        "\"via\": [{\"name\": \"c.py:2 (h)\", \"bytes\": 350, \"count\": 2}, "
        "{\"name\": \"b.py:2 (g)\", \"bytes\": 300, \"count\": 1}, "
        "{\"name\": null, \"bytes\": 10, \"count\": 1}]";
    CHECK_THAT(report_text(report::make_table, trace.reader, options), Catch::Contains(via));
}

TEST_CASE("files that inductor generates are never the user's", "[report]") {
    const std::string hash(51, 'k');
    const OpenTrace trace("start\n alloc a 1 100 stack=/scratch/ab/c" + hash +
                          ".py:9:call;/me/train.py:3:main\n alloc b 2 50 stack=/me/c" +
                          hash.substr(1) + ".py:9:call\n stop\n end\n");
    SelectionText user;
    user.frame = "user";
    CHECK(trace.rows(user) ==
          "100 B  100 B  100 B  1  /me/train.py:3 (main)\n50 B  150 B  50 B  1  /me/c" +
              hash.substr(1) + ".py:9 (call)\n");
}

TEST_CASE("memory of generated C++ code is on the line that called it", "[report]") {
    const std::string generated = "/scratch/ab/c" + std::string(51, 'k') + ".py";
    const OpenTrace trace("start\n alloc a 1 100 stack=" + generated +
                          ":60:g;/me/model.py:26:forward;/me/train.py:3:main\n"
                          "alloc b 2 50 stack=/me/helpers.py:60:g;/me/train.py:3:main\n"
                          " stop\n end\n");
    CHECK(trace.rows({}) ==
          "100 B  100 B  100 B  1  /me/model.py:26 (forward)  via cpp_wrapper\n"
          "50 B  150 B  50 B  1  /me/helpers.py:60 (g)\n");
}

TEST_CASE("Python in the backward pass is continued by the forward stack", "[report]") {
    constexpr const char* kTorch = "/v/site-packages/torch/_native/registry.py:7:router";
    const OpenTrace trace(std::string("start\n alloc a 1 100 stack=") + kTorch +
                          " forward=/me/m.py:5:forward;/me/t.py:1:main op=BmmBackward0\n"
                          "alloc b 2 40 stack=/me/f.py:2:backward;" +
                          kTorch +
                          " forward=/me/m.py:5:forward;/me/t.py:1:main op=Mine\n"
                          "alloc c 3 20 stack=" +
                          kTorch +
                          ";/v/site-packages/torch/autograd/graph.py:8:_engine_run_backward;"
                          "/me/t.py:2:main forward=/me/m.py:6:forward op=Last\n stop\n end\n");
    SelectionText user;
    user.frame = "user";
    CHECK(trace.rows(user) ==
          "100 B  100 B  100 B  1  /me/m.py:5 (forward)\n"
          "40 B  140 B  40 B  1  /me/f.py:2 (backward)\n"
          "20 B  160 B  20 B  1  /me/m.py:6 (forward)\n");
    SelectionText stacks;
    stacks.by = "stack";
    CHECK_THAT(trace.rows(stacks),
               Catch::Contains("torch/_native/registry.py:7 (router) <- /me/m.py:5 (forward) <- "
                               "/me/t.py:1 (main)\n") &&
                   Catch::EndsWith("registry.py:7 (router) <- /me/m.py:6 (forward)\n"));
}

TEST_CASE("rows can be functions, files and stacks", "[report]") {
    const OpenTrace trace(
        "start\n alloc a 1 100 stack=m.py:5:A.run;t.py:1:main\n"
        "alloc b 2 40 stack=m.py:6:A.run;t.py:1:main\n"
        "alloc c 3 30 stack=m.py:6:B.run;t.py:2:main\n stop\n end\n");
    SelectionText by;
    by.by = "function";
    CHECK(trace.rows(by) ==
          "140 B  140 B  70 B  2  m.py (A.run)\n30 B  170 B  30 B  1  m.py (B.run)\n");
    by.by = "file";
    CHECK(trace.rows(by) == "170 B  170 B  40 B  3  m.py\n");
    by.by = "stack";
    CHECK_THAT(trace.rows(by),
               Catch::StartsWith("100 B  100 B  100 B  1  m.py:5 (run) <- t.py:1 (main)\n"));
    by.by = "moon";
    CHECK_THROWS_WITH(trace.rows(by), Catch::Contains("line, function, file, stack"));
}

TEST_CASE("a simulated device is named in the first line", "[report]") {
    const OpenTrace trace("meta simulated NVIDIA H200\n start\n end\n");
    CHECK_THAT(report_text(report::make_table, trace.reader, {}),
               Catch::StartsWith("Simulated device: NVIDIA H200 (sizes are real, numbers are not)"
                                 "\nMax mem: 0 B\n"));
}

TEST_CASE("dropped records are reported with numbers", "[report]") {
    const OpenTrace trace("start\n alloc a 1 100 stack=m.py:5:f\n loss 1204 2048\n stop\n end\n");
    CHECK_THAT(report_text(report::make_table, trace.reader, {}),
               Catch::EndsWith("1,204 records dropped (2.000 KB): figures may be too low\n"));
    CHECK_FALSE(trace.replay().health.complete());
}

TEST_CASE("a file name cannot break the table", "[report]") {
    TraceBuilder builder;
    const uint32_t file = builder.define_string("evil\n\x1B[2J.py");
    const uint32_t frame = builder.define(format::DefType::kPythonFrame, fields({file, 0, 0, 1}));
    const uint32_t node = builder.define(format::DefType::kPythonNode, fields({0, frame}));
    builder.define(format::DefType::kContext, fields({0, node, 0, 0, 0, 0}));
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({1, 0, 0, 8, 0}), 0x1000);
    builder.mark(format::MarkKind::kProcessEnd);
    CHECK(OpenTrace(builder.finish()).rows() == "8 B  8 B  8 B  1  evil??[2J.py:1\n");
}

TEST_CASE("a trace with only a summary has tables of the peak and the end", "[report]") {
    TraceBuilder builder;
    builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, format::kUntraced}));
    builder.summary(format::SummaryType::kView, fields({0, 0, 700, 5, 200, 900, 4, 2}));
    builder.summary(format::SummaryType::kPeakGroup, fields({1, 300, 350, 2}));
    builder.summary(format::SummaryType::kLiveGroup, fields({1, 200, 200, 1}));
    const OpenTrace trace(builder.finish());
    CHECK(report_text(report::make_table, trace.reader, {}) ==
          "Max mem: 700 B\nTotal mem allocated: 900 B\n"
          "Mem, Cumulative Mem, Median, Count, Location\n700 B  700 B  350 B  2  untraced\n");
    CHECK(trace.replay("end").blocks.level_bytes == 200);
    CHECK_THROWS_WITH(trace.replay("1.5"), Catch::Contains("holds a summary only"));
}

}  // namespace
}  // namespace peakline::test
