// The number of passes of a report over the trace, and the state shared by followers of one pass.
#include <map>
#include <random>
#include <string>
#include <vector>

#include "report/replay/blocks/block_stream.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

const std::string kStep =
    "alloc x 1 10 thread=1 stack=train.py:5:main\n"
    "alloc h 2 100 thread=1 stack=m.py:1:f;/v/torch/nn/modules/module.py:9:M._call_impl\n"
    "scope 1 torch::autograd::Engine::execute\n"
    "alloc g 3 70 thread=2 forward=m.py:1:f op=MmBackward0\n"
    "free h\n endscope 1 torch::autograd::Engine::execute\n free g\n free x\n";

// Each pass over a trace in one chunk reports progress once.
int passes_of(report::MakeReport make,
              const std::string& by = "line",
              const std::string& at = "peak") {
    const OpenTrace trace("start\n" + kStep + kStep + "stop\n end\n");
    report::ReportOptions options;
    options.selection.by = by;
    options.selection.at = at;
    int count = 0;
    make(trace.reader, options, [&count](double) { ++count; });
    return count;
}

TEST_CASE("a report decodes the trace once, or twice if it is limited to phases",
          "[report][passes]") {
    CHECK(passes_of(report::make_table) == 1);
    CHECK(passes_of(report::make_table, "category") == 1);
    CHECK(passes_of(report::make_table, "freed-by", "end") == 1);
    CHECK(passes_of(report::make_tensors) == 1);
    CHECK(passes_of(report::make_phases) == 1);
    CHECK(passes_of(report::make_table, "line", "backward") == 2);
    CHECK(passes_of(report::make_table, "category", "backward") == 2);
    CHECK(passes_of(report::make_tensors, "line", "step@1") == 2);
    CHECK(passes_of(report::make_layers) == 2);
}

TEST_CASE("followers of one pass get the same events", "[report][passes]") {
    struct Listener : report::BlockFollower {
        explicit Listener(std::vector<std::string>& calls) : heard(calls) {}
        void before_event(report::EventTime at) { heard.push_back(std::to_string(at.event)); }
        void on_alloc(const report::BlockAlloc& block) {
            heard.push_back("alloc " + std::to_string(block.ordinal));
        }
        void on_free(const report::BlockFree& block) {
            heard.push_back("free " + std::to_string(block.ordinal) + " " +
                            std::to_string(static_cast<int>(block.kind)));
        }
        std::vector<std::string>& heard;
    };
    struct Second : Listener {
        using Listener::Listener;
    };
    const OpenTrace trace(
        "alloc a 1 10\n alloc b 2 10 class\n defer a\n complete a\n free b\n free b\n");
    std::vector<std::string> first_heard;
    std::vector<std::string> second_heard;
    Listener first(first_heard);
    Second second(second_heard);
    report::BlockStream stream(trace.reader);
    stream.run({}, first, second);
    const std::vector<std::string> expected = {
        "0", "alloc 0", "1", "alloc 1", "2", "free 0 1", "3", "free 0 2", "4", "free 1 0", "5"};
    CHECK(first_heard == expected);
    CHECK(second_heard == expected);
    CHECK(mentions(stream.health(), "1 frees name allocations that are not in the trace"));
}

// Blocks of a random program, freed in any order, with many peaks one after another.
TEST_CASE("the lives of the blocks at the peak are kept across later frees", "[report][passes]") {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        std::string text = "start\n";
        std::map<int, uint64_t> live;  // block to event
        std::map<int, uint64_t> at_peak;
        std::map<int, uint64_t> freed;
        uint64_t event = 1;
        for (int block = 0; block < 60; ++event) {
            if (live.empty() || random() % 100 < 55) {
                text += "alloc b" + std::to_string(block) + " " + std::to_string(block + 1) +
                        " 1 thread=1 stack=train.py:5:main\n";
                live[block++] = event;
                at_peak = live.size() > at_peak.size() ? live : at_peak;
            } else {
                const auto chosen = std::next(live.begin(), random() % live.size());
                text += "free b" + std::to_string(chosen->first) + "\n";
                freed[chosen->first] = event;
                live.erase(chosen);
            }
        }
        const OpenTrace trace(text + "stop\n end\n");
        const report::PhaseRules rules = report::make_phase_rules(trace.reader.definitions());
        report::ReplayRequest request;
        request.detail = report::Detail::kBlocks;
        request.phase_rules = &rules;
        const auto blocks = report::replay(trace.reader, request).blocks.blocks;
        REQUIRE(blocks.size() == at_peak.size());
        for (const report::TrackedBlock& block : blocks) {
            const int number = static_cast<int>(block.ordinal);
            const bool is_freed = freed.count(number) != 0;
            CHECK(block.facts.alloc_event == at_peak.at(number));
            CHECK(block.facts.free_event == (is_freed ? freed[number] : report::kNeverFreed));
            CHECK(block.facts.address == static_cast<uint64_t>(number + 1));
        }
    }
}

}  // namespace
}  // namespace peakline::test
