// The steps and refused requests before the first event of a bounded trace, compared with levels by
// brute force.
#include "random_program.h"
#include "report/replay/phases/phase_replay.h"

namespace peakline::test {
namespace {

using record::Keep;
using record::StepAction;

constexpr uint32_t kContexts = 5;
constexpr uint32_t kGpus = 2;
constexpr uint32_t kThread = 1;
constexpr char kStepName[] = "Optimizer.step#SGD.step";
constexpr char kEngineName[] = "torch::autograd::Engine::execute";
constexpr char kZeroGradName[] = "Optimizer.zero_grad#SGD.zero_grad";

using Place = std::pair<uint32_t, uint32_t>;  // context, device

struct Level {
    int64_t block_bytes = 0;
    int64_t requested_bytes = 0;
    int64_t count = 0;
    bool operator==(const Level&) const = default;
};

// Steps of random blocks, and one block more in each that stays.
class SteppedProgram {
public:
    SteppedProgram(uint32_t seed, const char* path, Keep keep = {Keep::Kind::kPeak, 0})
        : random_(seed), recorder_(start_recording(path, keep)) {
        for (uint32_t i = 0; i < kContexts; ++i) {
            record::StackTable& table = recorder_->table();
            const uint32_t file = table.intern_string("f.py", 4);
            const uint32_t frame = table.intern_python_frame(file, file, file, i + 1);
            const uint32_t node = table.intern_python_node(0, frame);
            contexts_.push_back(table.intern_context(record::Context{0, node, 0, 0, 0, 0}));
        }
    }

    Recorder& recorder() { return *recorder_; }

    struct Step {
        uint64_t peak_bytes = 0;
        uint64_t level_bytes = 0;
        std::map<Place, Level> levels;
    };
    std::vector<Step> steps;

    void work(int event_count) {
        for (int i = 0; i < event_count; ++i) {
            random_() % 2 == 0 || blocks_.size() < 8 ? allocate() : release();
        }
    }
    void allocate() {
        const uint32_t device = random_() % kGpus;
        const uint64_t requested = 1 + random_() % 5000;
        const Block block = {contexts_[random_() % kContexts],
                             device,
                             requested,
                             (requested + 511) / 512 * 512,
                             false};
        const uint64_t address = next_address_ += 8192;
        recorder_->record_alloc(
            {address, block.requested, block.bytes, block.context, 0, block.device},
            record::kUnknownTotal);
        blocks_[address] = block;
        level_ += block.bytes;
        peak_ = std::max(peak_, level_);
    }
    void release() {
        auto at = blocks_.lower_bound(8192 * (random_() % (next_address_ / 8192)));
        at = at == blocks_.end() ? blocks_.begin() : at;
        const auto kind = random_() % 4 == 0 && !at->second.is_waiting
                              ? Recorder::FreeKind::kDeferred
                              : Recorder::FreeKind::kCompleted;
        level_ -= at->second.is_waiting ? 0 : at->second.bytes;
        if (kind == Recorder::FreeKind::kDeferred) {
            at->second.is_waiting = true;
            recorder_->record_free(at->first, at->second.device, kind, record::kUnknownTotal);
        } else if (at->second.is_waiting) {
            recorder_->record_free_completed(at->first);
            blocks_.erase(at);
        } else {
            recorder_->record_free(at->first, at->second.device, kind, record::kUnknownTotal);
            blocks_.erase(at);
        }
    }

    void end_step() {
        Step step;
        step.peak_bytes = peak_;
        step.level_bytes = level_;
        step.levels = levels();
        steps.push_back(step);
        peak_ = level_;
    }
    // An action directly after the last step belongs to it.
    void go_on_with_step() {
        Step again;
        again.peak_bytes = std::max(steps.back().peak_bytes, peak_);
        again.level_bytes = level_;
        again.levels = levels();
        steps.back() = again;
        peak_ = level_;
    }
    void step_optimizer() {
        scope(
            kStepName, StepAction::kOptimizerBegun, StepAction::kOptimizerEnded, [&] { work(4); });
        end_step();
        if (steps.size() % 3 == 0) {
            scope(kZeroGradName, StepAction::kZeroGradBegun, StepAction::kZeroGradEnded, [&] {
                release();
            });
            go_on_with_step();
        }
        if (steps.size() % 5 == 0) {  // another optimizer
            scope(kStepName, StepAction::kOptimizerBegun, StepAction::kOptimizerEnded, [&] {
                work(3);
            });
            go_on_with_step();
        }
    }
    void step_two_optimizers() {
        allocate();
        for (int i = 0; i < 2; ++i) {
            scope(kStepName, StepAction::kOptimizerBegun, StepAction::kOptimizerEnded, [&] {
                allocate();
                release();
            });
        }
        release();
    }
    void step_with_closure() {
        scope(kStepName, StepAction::kOptimizerBegun, StepAction::kOptimizerEnded, [&] {
            scope(kEngineName, StepAction::kBackwardBegun, StepAction::kNone, [&] {
                allocate();
                release();
            });
        });
    }
    template <class Content>
    void scope(const char* name, StepAction begun, StepAction ended, Content content) {
        const uint32_t string = recorder_->table().intern_text(name);
        recorder_->record_scope(format::ScopeAction::kBegin, kThread, string, begun);
        content();
        recorder_->record_scope(format::ScopeAction::kEnd, kThread, string, ended);
    }

    std::map<Place, Level> levels() const {
        std::map<Place, Level> sums;
        for (const auto& [address, block] : blocks_) {
            if (!block.is_waiting) {
                Level& level = sums[{block.context, block.device}];
                level.block_bytes += static_cast<int64_t>(block.bytes);
                level.requested_bytes += static_cast<int64_t>(block.requested);
                ++level.count;
            }
        }
        return sums;
    }
    Groups groups_of_device(uint32_t device) const {
        Groups groups;
        for (const auto& [address, block] : blocks_) {
            if (!block.is_waiting && block.device == device) {
                ++groups[{block.context, block.requested, block.bytes}];
            }
        }
        return groups;
    }
    uint64_t waiting_bytes(uint32_t device) const {
        uint64_t bytes = 0;
        for (const auto& [address, block] : blocks_) {
            bytes += block.is_waiting && block.device == device ? block.bytes : 0;
        }
        return bytes;
    }

private:
    struct Block {
        uint32_t context;
        uint32_t device;
        uint64_t requested;
        uint64_t bytes;
        bool is_waiting;
    };

    std::mt19937 random_;
    std::unique_ptr<Recorder> recorder_;
    std::vector<uint32_t> contexts_;
    std::map<uint64_t, Block> blocks_;
    uint64_t next_address_ = 0;
    uint64_t level_ = 0;
    uint64_t peak_ = 0;
};

// `steps`: by brute force.
void check_history(const report::StepHistory& history,
                   const std::vector<SteppedProgram::Step>& steps) {
    REQUIRE(history.step_count <= steps.size());
    REQUIRE(history.samples.size() == history.step_count / history.steps_per_sample);
    std::map<Place, Level> levels;
    size_t at = 0;
    for (size_t sample = 0; sample < history.samples.size(); ++sample) {
        const report::StepSample& kept = history.samples[sample];
        for (; at < kept.change_end; ++at) {
            const report::StepChange& change = history.changes[at];
            Level& level = levels[{change.context, change.device}];
            level.block_bytes += change.block_bytes;
            level.requested_bytes += change.requested_bytes;
            level.count += change.count;
        }
        std::erase_if(levels, [](const auto& one) { return one.second == Level(); });
        uint64_t peak_bytes = 0;
        for (uint64_t i = history.first_step_of(sample); i <= history.last_step_of(sample); ++i) {
            peak_bytes = std::max(peak_bytes, steps[i].peak_bytes);
        }
        const SteppedProgram::Step& last = steps[history.last_step_of(sample)];
        REQUIRE(kept.peak_bytes == peak_bytes);
        REQUIRE(kept.level_bytes == last.level_bytes);
        REQUIRE(levels == last.levels);
    }
}

TEST_CASE("a bounded trace knows the steps before its events", "[record][keep][steps]") {
    for (const int step_count : {300, 1000, 3000}) {
        INFO(step_count << " steps");
        const TemporaryFile file;
        SteppedProgram program(static_cast<uint32_t>(step_count), file.path());
        for (int i = 0; i < step_count; ++i) {
            program.work(400'000 / step_count);
            program.step_optimizer();
        }
        const auto reader = report::TraceReader::open_file(file.path());  // as if it were killed
        REQUIRE(reader.checkpoint()->first_event > 50'000);
        REQUIRE(reader.checkpoint()->steps.has_value());
        const report::StepHistory& history = *reader.checkpoint()->steps;
        CHECK(history.source == format::SampleSource::kOptimizer);
        CHECK(history.step_count > static_cast<uint64_t>(step_count) / 4);
        CHECK(history.samples.size() >= 100);
        check_history(history, program.steps);
    }
}

// Steps of few events: some checkpoints come directly after the end of an optimizer, or within the
// second of two optimizers.
TEST_CASE("kept steps count on from those before them", "[record][keep][steps]") {
    constexpr uint32_t kSteps = 60'000;
    for (const bool has_closures : {false, true}) {
        for (const uint32_t seed : {5U, 7U, 8U, 9U}) {
            INFO("seed " << seed << (has_closures ? ", with closures" : ""));
            const TemporaryFile file;
            SteppedProgram program(seed, file.path());
            for (uint32_t i = 0; i < kSteps; ++i) {
                has_closures ? program.step_with_closure() : program.step_two_optimizers();
            }
            const auto reader = report::TraceReader::open_file(file.path());
            REQUIRE(reader.checkpoint()->first_event > 10'000);
            const report::PhaseTable table =
                report::replay_phases(reader, report::make_phase_rules(reader.definitions()), {})
                    .table;
            REQUIRE(table.steps.size() > 100);
            CHECK(table.first_step == reader.checkpoint()->steps.value().step_count);
            CHECK(table.first_step + table.steps.size() == kSteps);
        }
    }
}

TEST_CASE("a trace of the last bytes knows the steps before them", "[record][keep][steps]") {
    const TemporaryFile file;
    SteppedProgram program(6, file.path(), {Keep::Kind::kLast, 2 << 20});
    for (int i = 0; i < 1500; ++i) {
        program.work(800);
        program.step_optimizer();
    }
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.checkpoint()->first_event > 50'000);
    check_history(reader.checkpoint()->steps.value(), program.steps);
}

TEST_CASE("marks of the program are steps, and what optimizers do within them is not",
          "[record][keep][steps]") {
    const TemporaryFile file;
    SteppedProgram program(3, file.path());
    program.step_optimizer();
    program.steps.clear();
    program.recorder().record_mark(MarkKind::kStep, 0, 0);  // the first one begins
    for (int i = 0; i < 400; ++i) {
        program.work(1000);
        program.scope(kStepName, StepAction::kOptimizerBegun, StepAction::kOptimizerEnded, [] {});
        program.recorder().record_mark(MarkKind::kStep, 0, 0);
        program.end_step();
    }
    const auto reader = report::TraceReader::open_file(file.path());
    const report::StepHistory& history = reader.checkpoint()->steps.value();
    CHECK(history.source == format::SampleSource::kMarks);
    CHECK(history.step_count > 100);
    check_history(history, program.steps);
}

TEST_CASE("without steps the checkpoints are the samples", "[record][keep][steps]") {
    const TemporaryFile file;
    SteppedProgram program(4, file.path());
    program.work(1'200'000);
    const auto reader = report::TraceReader::open_file(file.path());
    const report::StepHistory& history = reader.checkpoint()->steps.value();
    CHECK(history.source == format::SampleSource::kParts);
    CHECK(history.samples.size() > 1);
    CHECK(history.samples.back().next_ordinal == reader.checkpoint()->next_ordinal);
}

TEST_CASE("a block before the kept events has the step in which it was made",
          "[record][keep][steps]") {
    report::StepHistory history;
    history.source = format::SampleSource::kOptimizer;
    history.steps_per_sample = 2;
    history.step_count = 7;
    for (const uint64_t ordinal : {10, 20, 30}) {
        history.samples.push_back({ordinal, ordinal, 0, 0, 0});
    }
    CHECK_FALSE(history.step_of(9).has_value());
    CHECK(history.step_of(10) == 3);
    CHECK(history.step_of(29) == 5);
    CHECK(history.step_of(30) == 7);  // those after the last sample
    history.source = format::SampleSource::kParts;
    CHECK_FALSE(history.step_of(15).has_value());
}

TEST_CASE("a bounded trace knows the last requests that were refused before its events",
          "[record][keep][steps]") {
    const TemporaryFile file;
    SteppedProgram program(5, file.path());
    constexpr uint64_t kRefused = 11;
    struct Seen {
        Groups groups;
        uint64_t waiting_bytes;
    };
    std::vector<Seen> seen;
    for (uint64_t i = 0; i < kRefused; ++i) {
        const auto device = static_cast<uint32_t>(i % kGpus);
        program.work(500);
        program.recorder().record_segment(
            format::SegmentAction::kAlloc, device, 0, (i + 1) << 32, 1 << 20);
        format::OutOfMemory request = {};
        request.device = device;
        request.requested_bytes = 1000 + i;
        format::Refusal refusal = {};
        refusal.asked_bytes = 900 + i;
        program.recorder().record_out_of_memory(request, refusal);
        seen.push_back({program.groups_of_device(device), program.waiting_bytes(device)});
    }
    program.work(600'000);
    const auto reader = report::TraceReader::open_file(file.path());
    REQUIRE(reader.checkpoint()->first_event > 50'000);
    const report::EarlierRefusals& refusals = reader.checkpoint()->refusals.value();
    CHECK(refusals.count == kRefused);
    REQUIRE(refusals.last.size() == record::RefusalHistory::kMostKept);
    for (size_t i = 0; i < refusals.last.size(); ++i) {
        const uint64_t number = kRefused - refusals.last.size() + i;
        const report::EarlierRefusal& one = refusals.last[i];
        CHECK(one.request.requested_bytes == 1000 + number);
        CHECK(one.refusal.asked_bytes == 900 + number);
        CHECK(one.reserved_bytes == (number / kGpus + 1) << 20);
        CHECK(one.waiting_bytes == seen[number].waiting_bytes);
        Groups groups;
        uint64_t live_bytes = 0;
        for (const report::SummaryGroup& group : one.live) {
            groups[{group.context, group.requested_bytes, group.block_bytes}] += group.count;
            live_bytes += group.count * group.block_bytes;
        }
        CHECK(groups == seen[number].groups);
        CHECK(one.live_bytes == live_bytes);
    }
}

}  // namespace
}  // namespace peakline::test
