// The recorder against a brute-force model: peaks in the process, and the trace it writes, read
// back by the report's reader. Sizes, order and marks are the test's own.
#include "allocator/record/recorder.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "tests/unit/catching.h"

using namespace peakline;
using record::AllocEvent;
using record::kUnknownTotal;
using record::Recorder;

namespace {

struct Model {
    std::map<uint64_t, uint64_t> live;
    uint64_t level = 0;
    uint64_t peak = 0;
    uint64_t total = 0;
};

std::unique_ptr<Recorder> new_recorder() {
    auto recorder = std::make_unique<Recorder>();
    REQUIRE(recorder->init(nullptr));
    return recorder;
}

uint32_t some_context(Recorder& recorder, uint32_t n) {
    return recorder.table().intern_context(record::Context{1, 0, 0, 0, n + 1, 0});
}

AllocEvent event_at(uint64_t address, uint64_t bytes, uint32_t context, uint32_t device = 0) {
    return AllocEvent{address, bytes - bytes / 10, bytes, context, 0, device};
}

void churn(Recorder& recorder, Model& model, uint64_t seed, int events) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < events; ++i) {
        if (model.live.empty() || random() % 100 < 52) {
            const uint64_t address = (random() % 100000 + 1000) * 512;
            if (model.live.count(address) != 0) {
                continue;
            }
            const uint64_t bytes = (random() % 64 + 1) * 512;
            recorder.record_alloc(event_at(address, bytes, some_context(recorder, i % 7)),
                                  model.level + bytes);
            model.live[address] = bytes;
            model.level += bytes;
            model.total += bytes;
            model.peak = std::max(model.peak, model.level);
        } else {
            auto victim =
                std::next(model.live.begin(), static_cast<long>(random() % model.live.size()));
            model.level -= victim->second;
            recorder.record_free(victim->first, 0, Recorder::FreeKind::kCompleted, model.level);
            model.live.erase(victim);
        }
    }
}

}  // namespace

TEST_CASE("the peak in the process equals the model's", "[record]") {
    auto recorder = new_recorder();
    recorder->start_tracing();
    Model model;
    churn(*recorder, model, 3, 20000);
    REQUIRE(recorder->peak_bytes(0, format::Measure::kAllocated) == model.peak);
    REQUIRE(recorder->level_bytes(0, format::Measure::kAllocated) == model.level);
    const record::RecorderCounters counters = recorder->counters();
    REQUIRE(counters.baseline_corrections == 0);
    REQUIRE(counters.unknown_frees == 0);
    REQUIRE(counters.records_dropped == 0);
}

TEST_CASE("memory torch had before recording began appears as a baseline block", "[record]") {
    auto recorder = new_recorder();
    recorder->start_tracing();
    const uint32_t context = some_context(*recorder, 1);
    recorder->record_alloc(event_at(51200, 1024, context), 5120);  // 4096 were there before
    REQUIRE(recorder->level_bytes(0, format::Measure::kAllocated) == 5120);
    recorder->record_free(999 * 512, 0, Recorder::FreeKind::kCompleted, 3072);
    REQUIRE(recorder->level_bytes(0, format::Measure::kAllocated) == 3072);
    REQUIRE(recorder->counters().unknown_frees == 1);
    REQUIRE(recorder->counters().baseline_corrections == 2);
}

TEST_CASE("a deferred free leaves allocated at once and requested when it completes", "[record]") {
    auto recorder = new_recorder();
    recorder->start_tracing();
    recorder->record_alloc(event_at(51200, 1000, some_context(*recorder, 1)), kUnknownTotal);
    recorder->record_free(51200, 0, Recorder::FreeKind::kDeferred, kUnknownTotal);
    REQUIRE(recorder->level_bytes(0, format::Measure::kAllocated) == 0);
    REQUIRE(recorder->level_bytes(0, format::Measure::kRequested) == 900);
    recorder->record_free_completed(51200);
    REQUIRE(recorder->level_bytes(0, format::Measure::kRequested) == 0);
}

TEST_CASE("blocks on devices count for their own device", "[record]") {
    auto recorder = new_recorder();
    recorder->start_tracing();
    recorder->record_alloc(event_at(51200, 512, some_context(*recorder, 1), 0), kUnknownTotal);
    recorder->record_alloc(event_at(61440, 2048, some_context(*recorder, 1), 1), kUnknownTotal);
    REQUIRE(recorder->peak_bytes(0, format::Measure::kAllocated) == 512);
    REQUIRE(recorder->peak_bytes(1, format::Measure::kAllocated) == 2048);
    REQUIRE(recorder->peak_bytes(77, format::Measure::kAllocated) == 0);
}

TEST_CASE("only traced ranges count for the peak, and the level at their start does", "[record]") {
    auto recorder = new_recorder();
    const uint32_t context = some_context(*recorder, 1);
    recorder->record_alloc(event_at(51200, 4096, recorder->untraced_context()), kUnknownTotal);
    recorder->record_free(51200, 0, Recorder::FreeKind::kCompleted, kUnknownTotal);
    recorder->record_alloc(event_at(51200, 1024, recorder->untraced_context()), kUnknownTotal);
    recorder->start_tracing();
    REQUIRE(recorder->peak_bytes(0, format::Measure::kAllocated) == 1024);
    recorder->record_alloc(event_at(61440, 512, context), kUnknownTotal);
    recorder->stop_tracing();
    recorder->record_alloc(event_at(71680, 8192, recorder->untraced_context()), kUnknownTotal);
    REQUIRE(recorder->peak_bytes(0, format::Measure::kAllocated) == 1536);
}

TEST_CASE("threads that record at once lose nothing", "[record]") {
    auto recorder = new_recorder();
    recorder->start_tracing();
    constexpr int kThreads = 4;
    constexpr uint64_t kBlocks = 20000;
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&recorder, t] {
            const uint32_t context = some_context(*recorder, static_cast<uint32_t>(t));
            for (uint64_t i = 1; i <= kBlocks; ++i) {
                const uint64_t address = (t * kBlocks + i) * 512;
                recorder->record_alloc(event_at(address, 512, context), kUnknownTotal);
                if (i % 2 == 0) {
                    recorder->record_free(
                        address, 0, Recorder::FreeKind::kCompleted, kUnknownTotal);
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    REQUIRE(recorder->level_bytes(0, format::Measure::kAllocated) == kThreads * kBlocks / 2 * 512);
    REQUIRE(recorder->counters().allocs == kThreads * kBlocks);
    REQUIRE(recorder->counters().records_dropped == 0);
}

TEST_CASE("a thread interrupted in the midst of a call may not end the recording", "[record]") {
    const auto recorder = new_recorder();
    record::StackTable& table = recorder->table();
    const uint32_t name = table.intern_text("f");
    const uint32_t node =
        table.intern_python_node(0, table.intern_python_frame(name, name, name, 1));
    CHECK(recorder->may_end());
    recorder->prepare_fork();  // locks everything
    CHECK(!recorder->may_end());
    recorder->parent_after_fork();
    bool is_asked = false;
    table.visit_python_stack(node, [&](const char*, size_t, const char*, size_t, uint32_t) {
        is_asked = !recorder->may_end();
        return false;
    });
    CHECK(is_asked);
    CHECK(recorder->may_end());
}

TEST_CASE("opening a trace fails with the errno of the file", "[record]") {
    auto recorder = new_recorder();
    Recorder::TraceOptions options{};
    options.path = "/nonexistent-folder/run.peak";
    REQUIRE(recorder->open_trace(options) == ENOENT);
    REQUIRE_FALSE(recorder->has_trace());
    // Recording in memory goes on.
    recorder->start_tracing();
    recorder->record_alloc(event_at(51200, 512, some_context(*recorder, 1)), kUnknownTotal);
    REQUIRE(recorder->peak_bytes(0, format::Measure::kAllocated) == 512);
}
