// Drives the recorder alone (no torch, no stacks) with a training-like stream of allocations and
// frees, and writes the trace that bench_reader.py reads: recorder_bench TRACE EVENTS.
// Prints nanoseconds and bytes per event.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "allocator/record/recorder.h"

using namespace peakline;

namespace {

constexpr uint32_t kContexts = 300;
constexpr size_t kLiveBlocks = 3000;

struct Shape {
    uint32_t context;
    uint64_t requested_bytes;
};

// A step asks for the same shapes in the same order, as a training loop does.
std::vector<Shape> make_step(record::Recorder& recorder) {
    std::mt19937_64 random(1);
    std::vector<Shape> step;
    for (size_t i = 0; i < kLiveBlocks; ++i) {
        const auto context = recorder.table().intern_context(
            record::Context{1, 0, 0, 0, static_cast<uint32_t>(random() % kContexts + 1), 0});
        step.push_back(Shape{context, (random() % 64 + 1) * 3000});
    }
    return step;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: recorder_bench TRACE EVENTS\n");
        return 2;
    }
    record::Recorder& recorder = record::Recorder::instance();
    record::Recorder::TraceOptions options{};
    options.path = argv[1];
    options.exists = record::FileTarget::Exists::kReplace;
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        std::fprintf(stderr, "cannot record to %s\n", argv[1]);
        return 1;
    }
    recorder.start_tracing();
    const std::vector<Shape> step = make_step(recorder);
    const auto events = std::strtoull(argv[2], nullptr, 10);
    uint64_t done = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (done < events) {
        for (size_t i = 0; i < step.size(); ++i, done += 2) {
            const uint64_t address = 0x700000000000 + i * 262144;
            recorder.record_free(
                address, 0, record::Recorder::FreeKind::kCompleted, record::kUnknownTotal);
            recorder.record_alloc(record::AllocEvent{address,
                                                     step[i].requested_bytes,
                                                     (step[i].requested_bytes + 511) / 512 * 512,
                                                     step[i].context,
                                                     0,
                                                     0},
                                  record::kUnknownTotal);
        }
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    const record::RecorderCounters counters = recorder.counters();
    recorder.close_trace();
    const auto recorded = static_cast<double>(counters.trace_events);
    std::printf("recorder alone: %.1f ns and %.2f bytes per event\n",
                spent.count() / recorded,
                static_cast<double>(counters.trace_bytes) / recorded);
    return 0;
}
