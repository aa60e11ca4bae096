#include "allocator/record/tables/stack_table.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/catching.h"

using peakline::record::Context;
using peakline::record::RawStackCache;
using peakline::record::StackTable;

TEST_CASE("equal things have one id, different things have different ids", "[record]") {
    static StackTable table;
    REQUIRE(table.init());
    const uint32_t file = table.intern_string("a.py", 4);
    const uint32_t name = table.intern_string("f", 1);
    REQUIRE(file != name);
    REQUIRE(table.intern_string("a.py", 4) == file);
    const uint32_t frame = table.intern_python_frame(file, name, name, 3);
    REQUIRE(table.intern_python_frame(file, name, name, 4) != frame);
    REQUIRE(table.intern_python_frame(file, name, name, 3) == frame);
    const uint32_t root = table.intern_python_node(0, frame);
    REQUIRE(table.intern_python_node(root, frame) != root);
    REQUIRE(table.intern_stream(0) == 0);
    REQUIRE(table.intern_stream(5) == table.intern_stream(5));
}

TEST_CASE("threads that intern the same things at once agree on the ids", "[record]") {
    static StackTable table;
    REQUIRE(table.init());
    constexpr int kThreads = 4;
    constexpr uint32_t kContexts = 20000;
    std::vector<std::vector<uint32_t>> ids(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (uint32_t i = 0; i < kContexts; ++i) {
                ids[t].push_back(table.intern_context(Context{1, i, i / 2, 0, 0, 0}));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (int t = 1; t < kThreads; ++t) {
        REQUIRE(ids[t] == ids[0]);
    }
    REQUIRE(std::set<uint32_t>(ids[0].begin(), ids[0].end()).size() == kContexts);
}

TEST_CASE("a raw cache that overflows forgets but never lies", "[record]") {
    RawStackCache cache;
    REQUIRE(cache.init(256));
    for (uint64_t i = 1; i <= 10000; ++i) {
        cache.insert(i * 0x9E3779B97F4A7C15ULL, i, static_cast<uint32_t>(i));
        const uint32_t found = cache.find(i * 0x9E3779B97F4A7C15ULL, i);
        REQUIRE((found == i || found == 0));
    }
    for (uint64_t i = 1; i <= 10000; ++i) {
        const uint32_t found = cache.find(i * 0x9E3779B97F4A7C15ULL, i);
        REQUIRE((found == i || found == 0));
    }
}
