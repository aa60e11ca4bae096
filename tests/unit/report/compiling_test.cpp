// Phases of torch.compile, found by frames of its files, and the peak without their memory.
#include "report/views/blocks/compiling.h"

#include <sstream>

#include "report/replay/phases/phase_replay.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using Texts = std::vector<std::string>;

const std::string kModule = ";/v/torch/nn/modules/module.py:1:Module._call_impl;train.py:9:main";
const std::string kGenerated = "/t/torchinductor_me/ab/cab.py:57:call;model.py:12:Net.forward";
const std::string kTuning =
    "/v/torch/_inductor/runtime/benchmarking.py:5:benchmark_gpu;"
    "/v/torch/_inductor/runtime/triton_heuristics.py:7:bench;" +
    kGenerated + kModule;
const std::string kTracing =
    "/v/torch/_inductor/fx_passes/pad_mm.py:3:lazy_init;"
    "/v/torch/_inductor/compile_fx.py:9:compile_fx_inner;"
    "/v/torch/_dynamo/convert_frame.py:5:_compile" +
    kModule;
const std::string kWarmUp = kGenerated +
                            ";/v/torch/_inductor/cudagraph_trees.py:8:CUDAWarmupNode.run;"
                            "/v/torch/_inductor/compile_fx.py:2291:run" +
                            kModule;

std::string alloc(const std::string& words, const std::string& stack) {
    return "alloc " + words + " thread=1 stack=" + stack + "\n";
}

// One step of a compiled model: the peak lies in tuning, 640 of 1000 bytes are the model's.
std::string one_step() {
    return "start\n" + alloc("weight 1 500", "train.py:3:main") + alloc("sample 2 60", kTracing) +
           "free sample\n" + alloc("out 3 140", kGenerated + kModule) +
           alloc("flush 4 300", kTuning) + alloc("copy 5 60", kTuning) + "free flush\nfree copy\n" +
           alloc("last 6 200", kGenerated + kModule) + "free out\nfree last\nstop\n end\n";
}

// "phase key bytes", by the rows of the table.
Texts rows_by(const OpenTrace& trace, const std::string& by, const std::string& frame = "caller") {
    report::SelectionText selection;
    selection.by = by;
    selection.frame = frame;
    std::istringstream rows(trace.rows(selection));
    Texts found;
    std::string line;
    while (std::getline(rows, line) && !line.empty()) {
        if (line.find(" B  ") != std::string::npos) {
            const size_t count = line.find("  ", line.rfind(" B  ") + 4);
            found.push_back(line.substr(0, line.find(" B")) + " " + line.substr(count + 2));
        }
    }
    return found;
}

std::optional<report::CompilingAtPeak> compiling(const OpenTrace& trace) {
    report::StackLookup stacks(trace.reader.definitions(), {});
    return report::find_compiling(
        trace.reader, trace.replay(), format::Measure::kAllocated, stacks, {});
}

TEST_CASE("memory of the compiler has its own phases and categories", "[report][compiling]") {
    const OpenTrace trace(one_step());
    CHECK(rows_by(trace, "phase") == Texts{"500 other", "360 autotuning", "140 forward"});
    CHECK(rows_by(trace, "module") == Texts{"640 outside of modules", "360 autotuning"});
    const Texts categories = rows_by(trace, "category");
    CHECK(std::count(categories.begin(), categories.end(), "360 autotuning") == 1);
}

TEST_CASE("memory of the compiler is no line of the model", "[report][compiling]") {
    const OpenTrace trace(one_step());
    const std::string via = "  via benchmarking.py:5 (benchmark_gpu)";
    CHECK(rows_by(trace, "line") == Texts{"500 train.py:3 (main)",
                                          "360 autotuning for model.py:12 (forward)" + via,
                                          "140 model.py:12 (forward)  via inductor buffer: "
                                          "cab.py:57 (call)"});
    CHECK(rows_by(trace, "function", "user") == Texts{"500 train.py (main)",
                                                      "360 autotuning for model.py (Net.forward)",
                                                      "140 model.py (Net.forward)"});
    // The innermost frame is what it is.
    CHECK(rows_by(trace, "file", "leaf")[1] == "360 /v/torch/_inductor/runtime/benchmarking.py");
}

TEST_CASE("the peak without the compiler's memory is that of all other blocks",
          "[report][compiling]") {
    const auto found = compiling(OpenTrace(one_step()));
    REQUIRE(found.has_value());
    REQUIRE(found->parts.size() == 1);
    CHECK(found->parts[0].phase == "autotuning");
    CHECK(found->parts[0].bytes == 360);
    CHECK(found->peak_without_bytes == 840);
}

TEST_CASE("nothing is said of a peak without the compiler's memory", "[report][compiling]") {
    const OpenTrace trace("start\n" + alloc("sample 1 60", kTracing) + "free sample\n" +
                          alloc("out 2 140", kGenerated + kModule) + "free out\nstop\n end\n");
    CHECK_FALSE(compiling(trace).has_value());
}

TEST_CASE("a warm-up of CUDA graphs keeps the lines of the model", "[report][compiling]") {
    const OpenTrace trace("start\n" + alloc("out 1 140", kWarmUp) + "stop\n end\n");
    CHECK(rows_by(trace, "phase") == Texts{"140 CUDA graph warm-up"});
    CHECK(rows_by(trace, "category") == Texts{"140 CUDA graph warm-up"});
    CHECK(rows_by(trace, "line")[0].starts_with("140 model.py:12 (forward)"));
}

TEST_CASE("code that the compiler calls is part of its work", "[report][compiling]") {
    const OpenTrace trace(
        "start\n" +
        alloc("a 1 100",
              "/v/torch/nn/init.py:3:normal_;/v/torch/_dynamo/convert_frame.py:5:_compile") +
        // A program may measure a kernel of its own.
        alloc("b 2 70", "/v/torch/_inductor/runtime/benchmarking.py:5:benchmark_gpu;own.py:1:f") +
        // torch.compile runs code with CUDA graphs from this file.
        alloc("c 3 40", kGenerated + ";/v/torch/_inductor/compile_fx.py:2291:run" + kModule) +
        alloc("d 4 20", "/v/triton/runtime/autotuner.py:5:_bench;own.py:1:f") + "stop\n end\n");
    CHECK(rows_by(trace, "phase") ==
          Texts{"100 compilation", "70 other", "40 forward", "20 autotuning"});
}

TEST_CASE("phases of the compiler lie within the pass that calls it", "[report][compiling]") {
    const OpenTrace trace(one_step());
    const report::PhaseResult result = report::replay_phases(
        trace.reader, report::make_phase_rules(trace.reader.definitions()), {});
    Texts found;
    for (const report::PhaseInterval& one : result.table.phases) {
        found.push_back(std::string(one.depth, '>') + one.name + " +" +
                        std::to_string(one.uses.of(0).allocated_bytes));
    }
    CHECK(found == Texts{"other +560", ">compilation +60", "forward +700", ">autotuning +360"});
}

}  // namespace
}  // namespace peakline::test
