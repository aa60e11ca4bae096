// The sums of a page over the whole run, against brute force over random events.
#include <map>
#include <random>
#include <string>
#include <vector>

#include "report/views/page/page.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using namespace peakline::report;

struct Sums {
    std::map<std::string, uint64_t> bytes;  // by line
    std::map<std::string, uint64_t> count;

    void add(const std::string& line, uint64_t size) {
        bytes[line] += size;
        ++count[line];
    }
    bool operator==(const Sums&) const = default;
};

struct Made {
    std::string line;
    uint64_t thread = 0;
    uint64_t bytes = 0;
    bool is_traced = false;
    uint64_t number_in_thread = 0;
};

// Random allocations by three threads, with tracing on and off; any thread may free a block.
class RandomProgram {
public:
    explicit RandomProgram(uint32_t seed) : random_(seed) {
        const size_t count = 20 + random_() % 200;
        const size_t main_end = random_() % (2 * count);
        for (size_t i = 0; i < count; ++i) {
            if (i == main_end) {
                text += "mainend\n";
                end_of_main();
            }
            add_event(i);
        }
        end_of_main();
        text += "end\n";
    }

    std::string text = "start\n";
    Sums allocated;
    Sums temporary;
    Sums left;

private:
    void end_of_main() {
        if (!has_ended_) {
            for (const auto& [name, block] : live_) {
                left.add(block.line, block.bytes);
            }
        }
        has_ended_ = true;
    }

    void add_event(size_t i) {
        if (random_() % 20 == 0) {
            is_tracing_ = !is_tracing_;
            text += is_tracing_ ? "start\n" : "stop\n";
        } else if (!live_.empty() && random_() % 2 == 0) {
            // Mostly a new one, so that some are temporary.
            auto at = std::prev(live_.end());
            std::advance(at, -static_cast<long>(random_() % std::min<size_t>(3, live_.size())));
            free(at->first, at->second);
            live_.erase(at);
        } else {
            alloc(static_cast<int>(1000 + i));
        }
    }

    void alloc(int name) {
        Made made;
        made.thread = 1 + random_() % 3;
        made.line = std::string("/w/f.py:") + std::to_string(1 + random_() % 4);
        made.bytes = 512 * (1 + random_() % 9);
        made.is_traced = is_tracing_ && random_() % 10 != 0;
        made.number_in_thread = made.is_traced ? ++made_by_[made.thread] : ++made_by_[0];
        text += "alloc " + std::to_string(name) + " " + std::to_string(name) + " " +
                std::to_string(made.bytes);
        text += made.is_traced
                    ? " stack=" + made.line + ":f thread=" + std::to_string(made.thread) + "\n"
                    : " untraced\n";
        if (made.is_traced) {
            allocated.add(made.line, made.bytes);
        } else {
            made.line = "untraced";
            made.thread = 0;
        }
        live_[name] = made;
    }

    void free(int name, const Made& made) {
        text += "free " + std::to_string(name) + "\n";
        if (made.is_traced && made_by_[made.thread] - made.number_in_thread <= 1) {
            temporary.add(made.line, made.bytes);
        }
    }

    std::mt19937 random_;
    bool is_tracing_ = true;
    bool has_ended_ = false;
    std::map<int, Made> live_;
    std::map<uint64_t, uint64_t> made_by_;  // allocations by thread
};

Sums sums_of(const Page& page, const std::vector<BytesAndCount>& totals) {
    Sums sums;
    for (size_t i = 0; i < totals.size(); ++i) {
        if (totals[i].count != 0) {
            const Label& line = page.names.lines[page.names.contexts[i].line];
            std::string name = line.name;
            if (!line.frames.empty()) {
                name = line.frames[0].file + ":" + std::to_string(line.frames[0].line);
            }
            sums.bytes[name] += totals[i].bytes;
            sums.count[name] += totals[i].count;
        }
    }
    return sums;
}

Page page_of(const OpenTrace& trace, const PageRequest& request = {}) {
    const Selection selection = parse_selection({});
    StackLookup stacks(trace.reader.definitions(), selection.frames);
    return build_page(trace.reader, selection, request, stacks);
}

TEST_CASE("allocated, temporary and remaining bytes of a run equal a brute-force count", "[page]") {
    for (uint32_t seed = 1; seed <= 200; ++seed) {
        const RandomProgram program(seed);
        INFO("seed " << seed << "\n" << program.text);
        const OpenTrace trace(program.text);
        if (program.allocated.bytes.empty()) {
            continue;
        }
        const Page page = page_of(trace);
        REQUIRE(sums_of(page, page.totals.allocated) == program.allocated);
        REQUIRE(sums_of(page, page.totals.temporary) == program.temporary);
        REQUIRE(sums_of(page, page.totals.left) == program.left);
        uint64_t sum = 0;
        for (const auto& [line, bytes] : program.allocated.bytes) {
            sum += bytes;
        }
        REQUIRE(page.chosen.total_allocated_bytes == sum);
    }
}

TEST_CASE("sums of a part of the run count its events only", "[page]") {
    const OpenTrace trace(
        "start\n alloc a 1 512 stack=a.py:1:f thread=1\n wait 1000\n free a\n"
        "alloc b 2 1024 stack=b.py:1:f thread=1\n free b\n alloc c 3 2048 stack=c.py:1:f thread=1\n"
        "wait 1000\n free c\n alloc d 4 512 stack=d.py:1:f thread=1\n end\n");
    PageRequest request;
    request.from_seconds = trace.reader.seconds(500);
    request.to_seconds = trace.reader.seconds(1500);
    const Page page = page_of(trace, request);
    const auto name = [&](const char* file) { return std::string(file) + ".py:1"; };
    CHECK(sums_of(page, page.totals.allocated).bytes ==
          std::map<std::string, uint64_t>{{name("b"), 1024}, {name("c"), 2048}});
    CHECK(sums_of(page, page.totals.temporary).bytes ==
          std::map<std::string, uint64_t>{{name("b"), 1024}});
    CHECK(sums_of(page, page.totals.left).bytes ==
          std::map<std::string, uint64_t>{{name("c"), 2048}});
}

}  // namespace
}  // namespace peakline::test
