// The recorder's work for events that it only repeats (Note [Predicted events] in
// event_predictor.h): everything that needs more than counting and copying must still happen when
// it is due.
#include "allocator/record/format/trace_format.h"
#include "random_program.h"
#include "report/trace/reader.h"

namespace peakline::test {
namespace {

using record::Keep;

constexpr uint64_t kBlocks = 8;
constexpr uint64_t kBytes = 1024;
constexpr uint64_t kRoundBytes = kBlocks * kBytes;
constexpr int kRoundsToLearn = 500;  // more than a loop needs to be known as one

// Rounds of the same blocks, as torch would tell them.
class Loop {
public:
    explicit Loop(Recorder& recorder) : recorder_(recorder) {
        record::StackTable& table = recorder.table();
        const uint32_t name = table.intern_string("operator", 8);
        context_ = table.intern_context(record::Context{0, 0, 0, 0, name, 0});
        rounds(kRoundsToLearn);
    }

    void rounds(int count) {
        for (int i = 0; i < count; ++i) {
            for (uint64_t block = 1; block <= kBlocks; ++block) {
                allocate(block);
            }
            for (uint64_t block = 1; block <= kBlocks; ++block) {
                free(block);
            }
        }
    }
    void allocate(uint64_t block, uint64_t more_in_torch = 0) {
        level_ += kBytes;
        recorder_.record_alloc(AllocEvent{block * kBytes, kBytes - 1, kBytes, context_},
                               level_ + more_in_torch);
    }
    void free(uint64_t block, uint64_t more_in_torch = 0) {
        level_ -= kBytes;
        recorder_.record_free(
            block * kBytes, 0, Recorder::FreeKind::kCompleted, level_ + more_in_torch);
    }

private:
    Recorder& recorder_;
    uint32_t context_ = 0;
    uint64_t level_ = 0;
};

// Counts, and looks at every free.
struct Counter {
    void on_alloc_class(uint64_t ordinal, uint64_t, uint32_t, uint64_t) { newest = ordinal; }
    void on_alloc_inline(uint64_t ordinal, uint64_t, const report::AllocationShape&, uint64_t) {
        newest = ordinal;
    }
    void on_free(uint64_t ordinal, uint64_t, report::FreeKind, uint32_t) {
        ++frees;
        wrong_frees += newest - ordinal == kBlocks - 1 - ordinal % kBlocks ? 0 : 1;
    }
    void on_unmatched_free(uint64_t) { ++wrong_frees; }
    void on_rare(uint64_t, const report::RareEvent&) {}

    uint64_t newest = 0;
    uint64_t frees = 0;
    uint64_t wrong_frees = 0;
};

}  // namespace

TEST_CASE("a loop fills chunk after chunk", "[record]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    Loop loop(*recorder);
    constexpr int kRounds = 50'000;
    loop.rounds(kRounds);
    recorder->close_trace();
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.problems().empty());
    Counter counter;
    reader.read_events(counter);
    constexpr uint64_t kAllocs = kBlocks * (kRounds + kRoundsToLearn);
    CHECK(counter.newest + 1 == kAllocs);
    CHECK(counter.frees == kAllocs);
    CHECK(counter.wrong_frees == 0);
    CHECK(file_bytes(file.path()) > 4 * format::kChunkBytes);
    const report::RecordedTotals* const totals = reader.whole_totals();
    REQUIRE(totals != nullptr);
    uint64_t counted = 0;
    for (const uint64_t count : totals->class_counts) {
        counted += count;
    }
    for (const report::AllocationSum& sum : totals->inline_totals) {
        counted += sum.count;
    }
    CHECK(counted == kAllocs);
}

TEST_CASE("a loop in a bounded file reaches its checkpoints", "[record][keep]") {
    const TemporaryFile file;
    constexpr uint64_t kKept = uint64_t{4} << 20;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kLast, kKept});
    Loop loop(*recorder);
    loop.rounds(500'000);
    loop.allocate(1);
    recorder->close_trace();
    CHECK(file_bytes(file.path()) < kKept + 8 * format::kChunkBytes);
    const auto reader = report::TraceReader::open_file(file.path());
    for (const Measure measure : kMeasures) {
        const uint64_t bytes = measure == Measure::kAllocated ? kBytes : kBytes - 1;
        CHECK(ask(reader, 0, measure).chosen.peak_bytes == kBlocks * bytes);
        CHECK(ask(reader, 0, measure, "end").blocks.level_bytes == bytes);
    }
}

TEST_CASE("a phase in a loop has its peak in a file without events", "[record][keep]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), {Keep::Kind::kPeak, 0});
    Loop loop(*recorder);
    const uint32_t name = recorder->table().intern_string("phase", 5);
    recorder->record_mark(MarkKind::kPhaseBegin, 0, name);
    loop.allocate(1);
    loop.allocate(2);
    loop.free(1);
    recorder->record_mark(MarkKind::kPhaseEnd, 0, name);
    loop.free(2);
    loop.rounds(100'000);  // until the events of the phase are no longer in the file
    recorder->close_trace();
    const auto reader = report::TraceReader::open_file(file.path());
    const auto in_phase = ask(reader, 0, Measure::kAllocated, "phase");
    CHECK(in_phase.blocks.level_bytes == 2 * kBytes);
    CHECK(ask(reader, 0, Measure::kAllocated).chosen.peak_bytes == kRoundBytes);
}

TEST_CASE("what torch counts differently is seen in a loop, too", "[record]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    Loop loop(*recorder);
    REQUIRE(recorder->counters().baseline_corrections == 0);
    constexpr uint64_t kMore = 4096;
    SECTION("at an allocation") {
        loop.allocate(1, kMore);
        CHECK(recorder->level_bytes(0, Measure::kAllocated) == kBytes + kMore);
    }
    SECTION("at a free") {
        for (uint64_t block = 1; block <= kBlocks; ++block) {
            loop.allocate(block);
        }
        loop.free(1, kMore);
        CHECK(recorder->level_bytes(0, Measure::kAllocated) == kRoundBytes - kBytes + kMore);
    }
    CHECK(recorder->counters().baseline_corrections == 1);
}

TEST_CASE("a loop makes no peak after tracing was stopped", "[record]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    Loop loop(*recorder);
    REQUIRE(recorder->peak_bytes(0, Measure::kAllocated) == kRoundBytes);
    recorder->stop_tracing();
    recorder->reset_peaks();
    loop.rounds(kRoundsToLearn);
    CHECK(recorder->peak_bytes(0, Measure::kAllocated) == 0);
    recorder->start_tracing();
    loop.rounds(1);
    CHECK(recorder->peak_bytes(0, Measure::kAllocated) == kRoundBytes);
}

TEST_CASE("in a forked child a loop is not recorded", "[record]") {
    const TemporaryFile file;
    const auto recorder = start_recording(file.path());
    Loop loop(*recorder);
    const uint64_t events = recorder->counters().allocs;
    recorder->prepare_fork();
    recorder->child_after_fork();
    loop.rounds(kRoundsToLearn);
    CHECK(recorder->counters().allocs == events);
}

TEST_CASE("a recorder without memory of its own records nothing", "[record]") {
    const auto recorder = std::make_unique<Recorder>();  // as after an init that failed
    recorder->record_alloc(AllocEvent{kBytes, kBytes, kBytes}, kBytes);
    recorder->record_free(kBytes, 0, Recorder::FreeKind::kCompleted, 0);
    CHECK(recorder->counters().allocs == 0);
}

}  // namespace peakline::test
