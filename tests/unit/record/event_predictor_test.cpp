// Loops with rounds that differ in some events: the events that the recorder repeats by prediction
// must be in the trace as they happened, compared one by one with the test's own log.
#include "allocator/record/event_predictor.h"

#include <map>
#include <random>

#include "random_program.h"
#include "report/trace/reader.h"

namespace peakline::test {
namespace {

constexpr uint64_t kPlaces = 64;
constexpr int kEventsPerRound = 400;

struct Logged {
    uint64_t ordinal;  // of the block
    bool is_free;
    AllocEvent event;  // of an allocation

    bool operator==(const Logged& other) const {
        const auto key = [](const Logged& one) {
            return std::tie(one.ordinal,
                            one.is_free,
                            one.event.address,
                            one.event.requested_bytes,
                            one.event.block_bytes,
                            one.event.context,
                            one.event.stream,
                            one.event.device);
        };
        return key(*this) == key(other);
    }
};

class Collector {
public:
    explicit Collector(const report::TraceReader& reader) : reader_(reader) {}
    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        on_alloc_inline(ordinal, tick, reader_.definitions().classes[class_id], address);
    }
    void on_alloc_inline(uint64_t ordinal,
                         uint64_t,
                         const report::AllocationShape& shape,
                         uint64_t address) {
        events.push_back({ordinal,
                          false,
                          AllocEvent{address,
                                     shape.requested_bytes,
                                     shape.block_bytes,
                                     shape.context,
                                     shape.stream,
                                     shape.device}});
    }
    void on_free(uint64_t ordinal, uint64_t, report::FreeKind, uint32_t) {
        events.push_back({ordinal, true, {}});
    }
    void on_unmatched_free(uint64_t) { ++unmatched; }
    void on_rare(uint64_t, const report::RareEvent&) {}

    std::vector<Logged> events;
    uint64_t unmatched = 0;

private:
    const report::TraceReader& reader_;
};

class Program {
public:
    explicit Program(Recorder& recorder) : recorder_(recorder) {
        record::StackTable& table = recorder.table();
        for (int i = 0; i < 32; ++i) {
            const std::string name = "operator" + std::to_string(i);
            const uint32_t id = table.intern_string(name.data(), name.size());
            contexts_.push_back(table.intern_context(record::Context{0, 0, 0, 0, id, 0}));
        }
        // More streams than a live block can tell apart.
        for (uint64_t handle = 1; handle <= record::kManyStreams + 1; ++handle) {
            last_stream_ = table.intern_stream(handle);
        }
        REQUIRE(last_stream_ > record::kManyStreams);
    }

    // The same events for the same seed, but for one in `surprise_in`; 0: none is another.
    void round(uint64_t seed, uint64_t surprise_in) {
        std::mt19937_64 random(seed);
        for (int i = 0; i < kEventsPerRound; ++i) {
            uint64_t drawn = random();
            if (surprise_in != 0 && surprises_() % surprise_in == 0) {
                // Another event, or one that differs in one bit of a field.
                const uint64_t other = surprises_();
                drawn = other % 4 == 0 ? other : drawn ^ uint64_t { 1 } << (8 + other % 16);
            }
            step(drawn);
        }
    }

    std::vector<Logged> log;

private:
    void step(uint64_t drawn) {
        const uint64_t address = (drawn % kPlaces + 1) * 512;
        const auto block = live_.find(address);
        if (block == live_.end()) {
            // A field has bits of its own.
            const auto bits = [drawn](unsigned first, uint64_t mask) {
                return static_cast<uint32_t>(drawn >> first & mask);
            };
            const uint64_t bytes = bits(8, 31) + 1;
            AllocEvent event{address, bytes, (bytes | 3) + bits(13, 1), contexts_[bits(14, 31)]};
            event.device = bits(19, 3) == 0 ? 1 : 0;
            event.stream = bits(21, 3) == 0 ? last_stream_ - bits(23, 1) : 0;
            levels_[event.device] += event.block_bytes;
            log.push_back({ordinal_, false, event});
            live_[address] = {ordinal_++, event};
            recorder_.record_alloc(event, levels_[event.device]);
        } else {
            const auto [ordinal, event] = block->second;
            levels_[event.device] -= event.block_bytes;
            log.push_back({ordinal, true, {}});
            live_.erase(block);
            recorder_.record_free(
                address, event.device, Recorder::FreeKind::kCompleted, levels_[event.device]);
        }
    }

    Recorder& recorder_;
    std::vector<uint32_t> contexts_;
    std::mt19937_64 surprises_{5};
    std::map<uint64_t, std::pair<uint64_t, AllocEvent>> live_;
    uint32_t last_stream_ = 0;
    uint64_t levels_[2] = {};
    uint64_t ordinal_ = 0;
};

void check(const TemporaryFile& file, const std::vector<Logged>& expected) {
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.problems().empty());
    Collector found(reader);
    reader.read_events(found);
    REQUIRE(found.unmatched == 0);
    REQUIRE(found.events == expected);
}

}  // namespace

TEST_CASE("a loop is recorded as it happened, and so is what is different in a round", "[record]") {
    const TemporaryFile file;
    auto recorder = start_recording(file.path());
    Program program(*recorder);
    for (uint64_t round = 0; round < 300; ++round) {
        // Whole loops, loops with surprises, other loops in between.
        const uint64_t surprise_in[] = {0, 1000, 50, 7};
        program.round(round % 40 < 30 ? 3 : 4, surprise_in[round / 20 % 4]);
    }
    REQUIRE(recorder->counters().baseline_corrections == 0);
    REQUIRE(recorder->counters().unknown_frees == 0);
    recorder->close_trace();
    check(file, program.log);
}

TEST_CASE("a loop goes on in a second trace", "[record]") {
    const TemporaryFile first;
    auto recorder = start_recording(first.path());
    Program program(*recorder);
    for (int round = 0; round < 10; ++round) {
        program.round(3, 0);  // an even number of rounds: nothing is live
    }
    recorder->close_trace();
    check(first, program.log);
    // Classes have other numbers here, and the first address is counted from nothing.
    const TemporaryFile second;
    REQUIRE(open_trace(*recorder, second.path()) == 0);
    program.log.clear();
    program.round(4, 0);
    program.round(4, 0);
    for (int round = 0; round < 10; ++round) {
        program.round(3, 0);
    }
    recorder->close_trace();
    const uint64_t before = program.log.front().ordinal;
    for (Logged& one : program.log) {
        one.ordinal -= before;
    }
    check(second, program.log);
}

TEST_CASE("blocks freed behind our back are freed in the trace, in loops, too", "[record]") {
    const TemporaryFile file;
    auto recorder = start_recording(file.path());
    const AllocEvent event{512, 100, 512};
    std::vector<Logged> log;
    for (uint64_t n = 0; n < 20; ++n) {
        if (n != 0) {
            log.push_back({n - 1, true, {}});
        }
        log.push_back({n, false, event});
        recorder->record_alloc(event, event.block_bytes);
    }
    recorder->close_trace();
    check(file, log);
}

TEST_CASE("a loop is predicted again after a pause", "[record]") {
    static record::EventPredictor predictor;  // of zeros
    record::PredictedAlloc event{};
    event.context = 1;
    event.requested_bytes = 1;
    const auto count_hits = [&](uint32_t first, uint32_t count) {
        uint32_t hit_count = 0;
        for (uint32_t slot = first; slot < first + count; ++slot) {
            event.slot = slot;
            if (predictor.predicted() == event) {
                ++hit_count;
                predictor.hit();
            } else {
                predictor.observe(event);
            }
        }
        return hit_count;
    };
    constexpr uint32_t kRound = 1000;
    count_hits(0, kRound);
    REQUIRE(count_hits(0, kRound) >= kRound - 1);
    REQUIRE(count_hits(0, kRound) == kRound);
    REQUIRE(count_hits(kRound, 100'000) == 0);
    uint32_t rounds = 0;
    while (count_hits(0, kRound) != kRound) {
        REQUIRE(++rounds < 1000);
    }
    REQUIRE(rounds > 10);  // it did pause
}

}  // namespace peakline::test
