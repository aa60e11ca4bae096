// Tables of two keys, and tables of selected blocks, against brute force: random programs whose
// blocks are known one by one, with all that the keys say of them.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "report/replay/totals/timeline.h"
#include "report/reports/asked_blocks.h"
#include "report/views/selection/chosen_keys.h"
#include "report/views/selection/selected_blocks.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using Texts = std::map<std::string, std::string>;  // by key of --by

struct Block {
    uint64_t bytes;
    Texts texts;
};

struct Held {
    uint64_t bytes = 0;
    uint64_t count = 0;
    bool operator==(const Held&) const = default;
};
using Rows = std::map<std::vector<std::string>, Held>;

const std::vector<std::string> kKeys = {"line", "file", "thread", "device", "freed-by", "tensor"};

// Allocates and frees at random. Every free says its line.
class RandomProgram {
public:
    explicit RandomProgram(uint32_t seed) : random_(seed) {
        text_ = "start\n";
        for (int events = 10 + pick(60); events > 0; --events) {
            const bool frees = !live_.empty() && pick(2) == 0;
            frees ? free_one() : alloc_one();
        }
        text_ += "end\n";
    }

    const std::string& text() const { return text_; }

    // The highest level of the blocks that `is_shown` takes, over all events.
    template <class IsShown>
    uint64_t highest_level(IsShown is_shown) const {
        uint64_t level = 0;
        uint64_t highest = 0;
        for (const auto& [block, is_alloc] : events_) {
            const uint64_t bytes = is_shown(blocks_[block].texts) ? blocks_[block].bytes : 0;
            level = is_alloc ? level + bytes : level - bytes;
            highest = std::max(highest, level);
        }
        return highest;
    }

    // Rows of the blocks that are live at the peak of all devices and that `is_shown` takes.
    template <class IsShown>
    Rows rows(const std::vector<std::string>& keys, IsShown is_shown) const {
        Rows rows;
        for (const size_t block : at_peak_) {
            if (is_shown(blocks_[block].texts)) {
                std::vector<std::string> texts;
                for (const std::string& key : keys) {
                    texts.push_back(blocks_[block].texts.at(key));
                }
                Held& held = rows[texts];
                held.bytes += blocks_[block].bytes;
                ++held.count;
            }
        }
        return rows;
    }

private:
    int pick(int bound) { return static_cast<int>(random_() % static_cast<uint32_t>(bound)); }

    void alloc_one() {
        const std::string name = std::to_string(blocks_.size());
        const std::string file = std::string("/p/") + "ab"[pick(2)] + ".py";
        const std::string line = std::to_string(1 + pick(3));
        const std::string device = std::to_string(pick(2));
        const std::string thread = std::to_string(1 + pick(2));
        Block block;
        block.bytes = 512 * static_cast<uint64_t>(1 + pick(5));
        block.texts = {{"file", file},
                       {"line", file + ":" + line + " (f)"},
                       {"thread", "thread " + thread + "00"},
                       {"device", "device " + device},
                       {"freed-by", "still live at the end"},
                       {"tensor", "other (activations, inputs, temporary)"}};
        text_ += "alloc " + name + " " + std::to_string(4096 * (blocks_.size() + 1)) + " " +
                 std::to_string(block.bytes) + " thread=" + thread + " dev=" + device +
                 " stack=" + file + ":" + line + ":f\n";
        if (pick(3) == 0) {
            const std::string weight = "w" + std::to_string(pick(2));
            block.texts["tensor"] = "parameter " + weight;
            text_ += "tensor " + name + " parameter " + weight + "\n";
        }
        level_ += block.bytes;
        live_.insert(blocks_.size());
        events_.emplace_back(blocks_.size(), true);
        blocks_.push_back(block);
        if (level_ > peak_) {
            peak_ = level_;
            at_peak_ = live_;
        }
    }

    void free_one() {
        auto at = live_.begin();
        std::advance(at, pick(static_cast<int>(live_.size())));
        const std::string line = std::to_string(7 + pick(2));
        text_ += "free " + std::to_string(*at) + " thread=1 stack=/p/g.py:" + line + ":g\n";
        blocks_[*at].texts["freed-by"] = "/p/g.py:" + line + " (g)";
        level_ -= blocks_[*at].bytes;
        events_.emplace_back(*at, false);
        live_.erase(at);
    }

    std::mt19937 random_;
    std::string text_;
    std::vector<Block> blocks_;
    std::vector<std::pair<size_t, bool>> events_;  // block; made, or freed
    std::set<size_t> live_;
    std::set<size_t> at_peak_;
    uint64_t level_ = 0;
    uint64_t peak_ = 0;
};

struct Answer {
    Rows rows;
    uint64_t shown_bytes = 0;
    std::vector<report::UnmatchedValue> unmatched;
};

Answer ask(const OpenTrace& trace, const std::string& by, std::vector<std::string> where = {}) {
    report::SelectionText text;
    text.by = by;
    text.where = std::move(where);
    text.device = "all";
    const report::Selection selection = report::parse_selection(text);
    report::StackLookup stacks(trace.reader.definitions(), selection.frames);
    report::BlockKeys keys(
        report::chosen_keys(trace.reader, selection), selection.row_keys.size(), stacks);
    const report::AskedBlocks asked =
        report::replay_for_keys(trace.reader, selection, report::Detail::kGroups, keys, {}, {});
    Answer answer;
    for (const report::TableRow& row :
         report::build_table(asked.result.blocks, selection.request.measure, keys).rows) {
        answer.rows[keys_of_labels(row.labels)] = {static_cast<uint64_t>(row.bytes), row.count};
    }
    answer.shown_bytes = asked.part.shown_bytes;
    answer.unmatched = asked.part.unmatched;
    return answer;
}

TEST_CASE("rows of two keys equal a brute-force count", "[report][crossed]") {
    for (uint32_t seed = 1; seed <= 30; ++seed) {
        const RandomProgram program(seed);
        const OpenTrace trace(program.text());
        INFO("seed " << seed << "\n" << program.text());
        for (const std::string& one : kKeys) {
            for (const std::string& other : kKeys) {
                if (one == other || trace.reader.definitions().tensor_blocks.empty()) {
                    continue;
                }
                REQUIRE(ask(trace, one + "," + other).rows ==
                        program.rows({one, other}, [](const Texts&) { return true; }));
            }
        }
    }
}

TEST_CASE("--where shows the blocks that brute force selects", "[report][where]") {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        const RandomProgram program(seed);
        const OpenTrace trace(program.text());
        INFO("seed " << seed << "\n" << program.text());
        const auto check = [&](std::vector<std::string> where, auto is_shown) {
            const Rows wanted = program.rows({"line", "freed-by"}, is_shown);
            const Answer answer = ask(trace, "line,freed-by", std::move(where));
            uint64_t sum = 0;
            for (const auto& [keys, held] : wanted) {
                sum += held.bytes;
            }
            REQUIRE(answer.rows == wanted);
            REQUIRE(answer.shown_bytes == sum);
        };
        check({"file=/p/a.py"}, [](const Texts& of) { return of.at("file") == "/p/a.py"; });
        check({"line=/p/?.py:2 *", "freed-by=still live at the end"}, [](const Texts& of) {
            return of.at("line").find(":2 ") != std::string::npos &&
                   of.at("freed-by") == "still live at the end";
        });
        check({"freed-by=/p/g.py:7 (g)", "device=device 1", "freed-by=/p/g.py:8 (g)"},
              [](const Texts& of) {
                  return of.at("device") == "device 1" &&
                         of.at("freed-by") != "still live at the end";
              });
        check({"thread=thread 100"},
              [](const Texts& of) { return of.at("thread") == "thread 100"; });
    }
}

// The highest level of the blocks that --where shows, as the timeline has it.
uint64_t highest_level(const OpenTrace& trace, const std::vector<std::string>& where) {
    report::SelectionText text;
    text.where = where;
    report::Selection selection = report::parse_selection(text);
    selection.row_keys.clear();
    report::StackLookup stacks(trace.reader.definitions(), selection.frames);
    report::BlockKeys keys(report::chosen_keys(trace.reader, selection), 0, stacks);
    report::BlockFilter filter(selection.where, keys, report::texts_of_labels({}));
    const std::vector<bool> shown = report::select_blocks(trace.reader, keys, filter);
    return report::make_timeline(trace.reader, {std::nullopt, 10, &shown}).peak_bytes;
}

TEST_CASE("the timeline of selected blocks has the highest level of a brute-force count",
          "[report][where]") {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        const RandomProgram program(seed);
        const OpenTrace trace(program.text());
        INFO("seed " << seed << "\n" << program.text());
        REQUIRE(highest_level(trace, {"file=/p/a.py"}) ==
                program.highest_level([](const Texts& of) { return of.at("file") == "/p/a.py"; }));
        REQUIRE(highest_level(trace, {"freed-by=/p/g.py:7 (g)", "thread=thread 200"}) ==
                program.highest_level([](const Texts& of) {
                    return of.at("freed-by") == "/p/g.py:7 (g)" && of.at("thread") == "thread 200";
                }));
        REQUIRE(highest_level(trace, {"lifetime=held to the end"}) ==
                program.highest_level(
                    [](const Texts& of) { return of.at("freed-by") == "still live at the end"; }));
    }
}

TEST_CASE("a value that is the text of a row is no glob", "[report][where]") {
    const OpenTrace trace(
        "start\n alloc a 1 800 stack=/p/[ab].py:1:f\n alloc b 2 400 stack=/p/a.py:1:f\n end\n");
    CHECK(ask(trace, "line", {"file=/p/[ab].py"}).shown_bytes == 800);
    CHECK(ask(trace, "line", {"file=/p/[a].py"}).shown_bytes == 400);
    CHECK(ask(trace, "line", {"file=/p/\\[ab\\].py"}).shown_bytes == 800);
    CHECK(ask(trace, "line", {"file=*"}).shown_bytes == 1200);
}

TEST_CASE("the message for a value that no block has lists the nearest ones", "[report][where]") {
    std::string text = "start\n";
    for (int i = 0; i < 8; ++i) {
        text += "alloc b" + std::to_string(i) + " " + std::to_string(4096 * (i + 1)) +
                " 512 stack=/p/model.py:" + std::to_string(40 + i) + ":f\n";
    }
    const Answer answer = ask(OpenTrace(text + "end\n"), "line", {"line=modle.py:42"});
    CHECK(answer.rows.empty());
    REQUIRE(answer.unmatched.size() == 1);
    CHECK(answer.unmatched[0].value == "modle.py:42");
    CHECK(answer.unmatched[0].nearest.size() == 5);
    CHECK(answer.unmatched[0].nearest[0] == "/p/model.py:42 (f)");
}

TEST_CASE("bytes that only a summary counts are selected by their text", "[report][where]") {
    TraceBuilder builder;
    builder.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, 0}));
    builder.summary(format::SummaryType::kView, fields({0, 0, 700, 5, 200, 900, 4, 2}));
    builder.summary(format::SummaryType::kPeakGroup, fields({1, 300, 350, 1}));
    const OpenTrace trace(builder.finish());
    CHECK(ask(trace, "device,line").rows.at({report::kUnknownName, report::kUnknownName}).bytes ==
          350);
    CHECK(ask(trace, "line", {"device=device 0"}).shown_bytes == 350);
    CHECK(ask(trace, "line", {"device=unknown*"}).rows.size() == 1);
    CHECK_THROWS_WITH(ask(trace, "line", {"category=activation"}),
                      Catch::Contains("--where category follows single blocks"));
    CHECK_THROWS_WITH(ask(trace, "line,lifetime"),
                      Catch::Contains("--by lifetime follows single blocks"));
}

TEST_CASE("unknown words of --by and --where are refused", "[report][where]") {
    const auto refused = [](const std::string& by, std::vector<std::string> where) {
        report::SelectionText text;
        text.by = by;
        text.where = std::move(where);
        report::parse_selection(text);
    };
    using Catch::Contains;
    CHECK_NOTHROW(refused("module , lifetime", {"line=a=b"}));
    CHECK_THROWS_WITH(refused("line,op,step", {}), Contains("one key, or two"));
    CHECK_THROWS_WITH(refused("line,", {}), Contains("one key, or two"));
    CHECK_THROWS_WITH(refused("op,op", {}), Contains("two different keys"));
    CHECK_THROWS_WITH(refused("line", {"category"}), Contains("takes KEY=VALUE"));
    CHECK_THROWS_WITH(refused("line", {"=x"}), Contains("takes KEY=VALUE"));
    CHECK_THROWS_WITH(refused("line", {"op="}), Contains("takes KEY=VALUE"));
    CHECK_THROWS_WITH(refused("line", {"categry=x"}),
                      Contains("cannot select by 'categry'; did you mean category?"));
}

}  // namespace
}  // namespace peakline::test
