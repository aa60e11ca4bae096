// What the recorder writes, the report reads: levels, peaks, live blocks and totals of random
// programs, compared with the recorder's own answers and with a model that copies everything at
// each new maximum. Also recordings that end badly.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "allocator/record/recorder.h"
#include "report/render/report.h"
#include "report/replay/replay.h"
#include "tests/unit/report/trace_builder.h"

namespace peakline::test {
namespace {

using format::MarkKind;
using format::Measure;
using record::AllocEvent;
using record::Recorder;

constexpr uint32_t kDevices = 3;
constexpr Measure kMeasures[] = {Measure::kAllocated, Measure::kRequested};

// context, requested, block -> count
using Groups = std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint64_t>;

class TemporaryFile {
public:
    TemporaryFile() {
        const int descriptor = mkstemp(path_);
        REQUIRE(descriptor >= 0);
        ::close(descriptor);
    }
    ~TemporaryFile() { unlink(path_); }
    const char* path() const { return path_; }
    Bytes bytes() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    char path_[64] = "/tmp/peakline-round-trip-XXXXXX";
};

// One device in one measure, by brute force.
struct View {
    uint64_t level = 0;
    uint64_t peak = 0;
    uint64_t total = 0;
    bool found = false;
    Groups at_peak = {};
    Groups live = {};
};

// Drives a recorder at random and keeps the model.
class RandomProgram {
public:
    explicit RandomProgram(uint32_t seed) : random_(seed), recorder_(std::make_unique<Recorder>()) {
        REQUIRE(recorder_->init(nullptr));
        contexts_.push_back(recorder_->untraced_context());
        for (uint32_t i = 1; i <= 6; ++i) {
            contexts_.push_back(new_context(i));
        }
    }

    Recorder& recorder() { return *recorder_; }
    const View& view(uint32_t device, Measure measure) const {
        return views_[device][static_cast<size_t>(measure)];
    }

    void open(const char* path) {
        Recorder::TraceOptions options = {};
        options.path = path;
        options.exists = record::FileTarget::Exists::kReplace;
        REQUIRE(recorder_->open_trace(options) == 0);
        for (auto& views : views_) {
            for (View& view : views) {
                view.found = false;
                view.peak = view.total = 0;
                view.at_peak.clear();
            }
        }
        look_at_levels();
    }

    void run(int event_count) {
        for (int i = 0; i < event_count; ++i) {
            add_event();
            look_at_levels();
        }
    }

    void set_tracing(bool tracing) {
        tracing ? recorder_->start_tracing() : recorder_->stop_tracing();
        tracing_ = tracing;
        look_at_levels();
    }

private:
    struct Block {
        AllocEvent event;
        bool deferred = false;
    };

    uint64_t pick(uint64_t bound) { return random_() % bound; }

    uint32_t new_context(uint32_t n) {
        record::StackTable& table = recorder_->table();
        const std::string name = "file" + std::to_string(n) + ".py";
        const uint32_t file = table.intern_string(name.data(), name.size());
        const uint32_t frame = table.intern_python_frame(file, file, file, n);
        const uint32_t node = table.intern_python_node(0, frame);
        return table.intern_context(record::Context{0, node, 0, 0, 0, 0});
    }

    void add_event() {
        const uint64_t dice = pick(100);
        if (dice < 50 || live_.empty()) {
            add_alloc();
        } else if (dice < 92) {
            add_free();
        } else if (dice < 95) {
            set_tracing(!tracing_);
        } else if (dice < 97) {
            // Contexts and definitions come while the program runs.
            contexts_.push_back(new_context(static_cast<uint32_t>(contexts_.size())));
        } else {
            recorder_->record_mark(MarkKind::kStep, 0, 0);
        }
    }

    void add_alloc() {
        AllocEvent event;
        event.address = (1 + pick(500)) * 512 + pick(2) * 8;
        event.requested_bytes = pick(5) * 100;
        event.block_bytes = event.requested_bytes + pick(3) * 50;
        event.context = contexts_[pick(contexts_.size())];
        event.device = static_cast<uint32_t>(pick(kDevices));
        if (live_.count(event.address) != 0) {
            return;
        }
        recorder_->record_alloc(event, record::kUnknownTotal);
        live_[event.address] = {event};
        for (const Measure measure : kMeasures) {
            View& view = views_[event.device][static_cast<size_t>(measure)];
            add_bytes(view, event, measure);
            const bool counts = tracing_ && event.context != recorder_->untraced_context();
            view.total += counts ? bytes_of(event, measure) : 0;
        }
    }

    void add_free() {
        auto at = live_.begin();
        std::advance(at, static_cast<ptrdiff_t>(pick(live_.size())));
        Block& block = at->second;
        if (!block.deferred && pick(4) == 0) {
            recorder_->record_free(at->first,
                                   block.event.device,
                                   Recorder::FreeKind::kDeferred,
                                   record::kUnknownTotal);
            block.deferred = true;
            remove_bytes(block.event, Measure::kAllocated);
            return;
        }
        if (block.deferred) {
            recorder_->record_free_completed(at->first);
        } else {
            recorder_->record_free(at->first,
                                   block.event.device,
                                   Recorder::FreeKind::kCompleted,
                                   record::kUnknownTotal);
            remove_bytes(block.event, Measure::kAllocated);
        }
        remove_bytes(block.event, Measure::kRequested);
        live_.erase(at);
    }

    static uint64_t bytes_of(const AllocEvent& event, Measure measure) {
        return measure == Measure::kAllocated ? event.block_bytes : event.requested_bytes;
    }
    static std::tuple<uint32_t, uint64_t, uint64_t> key_of(const AllocEvent& event) {
        return {event.context, event.requested_bytes, event.block_bytes};
    }
    static void add_bytes(View& view, const AllocEvent& event, Measure measure) {
        view.level += bytes_of(event, measure);
        ++view.live[key_of(event)];
    }
    void remove_bytes(const AllocEvent& event, Measure measure) {
        View& view = views_[event.device][static_cast<size_t>(measure)];
        view.level -= bytes_of(event, measure);
        if (--view.live[key_of(event)] == 0) {
            view.live.erase(key_of(event));
        }
    }

    void look_at_levels() {
        for (auto& views : views_) {
            for (View& view : views) {
                if (tracing_ && (!view.found || view.level > view.peak)) {
                    view.found = true;
                    view.peak = view.level;
                    view.at_peak = view.live;
                }
            }
        }
    }

    std::mt19937 random_;
    std::unique_ptr<Recorder> recorder_;
    std::vector<uint32_t> contexts_;
    std::map<uint64_t, Block> live_;
    View views_[kDevices][2];
    bool tracing_ = false;
};

report::SelectionText selection_of(uint32_t device, Measure measure, const char* at) {
    report::SelectionText selection;
    selection.device = std::to_string(device);
    selection.measure = measure == Measure::kAllocated ? "allocated" : "requested";
    selection.at = at;
    return selection;
}

report::ReplayResult ask(const report::TraceReader& reader,
                         uint32_t device,
                         Measure measure,
                         const char* at = "peak") {
    return report::replay(reader,
                          report::parse_selection(selection_of(device, measure, at)).request);
}

Groups groups_of(const report::LiveBlocks& blocks) {
    Groups groups;
    for (const report::BlockGroup& group : blocks.groups) {
        groups[{group.context, group.requested_bytes, group.block_bytes}] += group.count;
    }
    return groups;
}

void check_view(const report::TraceReader& reader,
                RandomProgram& program,
                uint32_t device,
                Measure measure) {
    const View& view = program.view(device, measure);
    const auto peak = ask(reader, device, measure);
    REQUIRE(peak.chosen.peak_bytes == view.peak);
    REQUIRE(peak.chosen.total_allocated_bytes == view.total);
    REQUIRE(peak.blocks.level_bytes == view.peak);
    REQUIRE(groups_of(peak.blocks) == view.at_peak);
    const auto end = ask(reader, device, measure, "end");
    REQUIRE(end.blocks.level_bytes == view.level);
    REQUIRE(groups_of(end.blocks) == view.live);
    REQUIRE(program.recorder().peak_bytes(device, measure) == view.peak);
    REQUIRE(program.recorder().level_bytes(device, measure) == view.level);
}

std::string table_of(const report::TraceReader& reader,
                     uint32_t device,
                     Measure measure,
                     const char* at) {
    report::ReportOptions options;
    options.selection = selection_of(device, measure, at);
    return report::make_table(reader, options);
}

void check_everything(const std::string& path, RandomProgram& program, bool has_summary) {
    const auto reader = report::TraceReader::open_file(path);
    record::MemoryTarget image;
    REQUIRE(program.recorder().write_summary(&image));
    const auto summary = report::TraceReader::from_memory("summary", {image.data(), image.size()});
    const auto devices = report::replay(reader, {}).devices;
    for (const report::DeviceTotals& totals : devices) {
        for (const Measure measure : kMeasures) {
            check_view(reader, program, totals.device, measure);
            for (const char* at : {"peak", "end"}) {
                const std::string table = table_of(reader, totals.device, measure, at);
                REQUIRE((!has_summary || table == table_of(summary, totals.device, measure, at)));
            }
        }
    }
}

TEST_CASE("the report finds in the file what the recorder found in the process", "[record]") {
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.open(file.path());
        program.run(1 + static_cast<int>(seed) * 5);
        program.set_tracing(true);
        program.run(200);
        program.recorder().close_trace();
        check_everything(file.path(), program, true);
        const auto reader = report::TraceReader::open_file(file.path());
        REQUIRE(report::replay(reader, {}).health.problems.texts().empty());
    }
}

TEST_CASE("a file opened in the middle begins with what is live", "[record]") {
    for (uint32_t seed = 100; seed <= 140; ++seed) {
        INFO("seed " << seed);
        const TemporaryFile file;
        RandomProgram program(seed);
        program.set_tracing(seed % 2 == 0);
        program.run(200);
        program.open(file.path());
        program.set_tracing(true);
        program.run(200);
        program.recorder().close_trace();
        check_everything(file.path(), program, true);
    }
}

TEST_CASE("a recorder that is never closed leaves a file with everything in it", "[record]") {
    const TemporaryFile file;
    RandomProgram program(7);
    program.set_tracing(true);
    program.open(file.path());
    program.run(5000);
    // Read while the recorder still has it open: the bytes a killed process leaves.
    check_everything(file.path(), program, false);
    const auto reader = report::TraceReader::open_file(file.path());
    const auto problems = report::replay(reader, {}).health.problems.texts();
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], Catch::Contains("ended without a clean end (killed?)"));
}

// Room for some chunks, then a full disk.
class SmallDisk final : public record::ChunkTarget {
public:
    explicit SmallDisk(uint64_t chunk_count) : bytes_(TraceBuilder::chunk_offset(chunk_count)) {
        const Bytes empty = TraceBuilder().finish();
        std::copy_n(empty.begin(), format::kSuperblockBytes, bytes_.begin());
    }
    unsigned char* open_chunk_slow(uint64_t index) override {
        const bool fits = TraceBuilder::chunk_offset(index + 1) <= bytes_.size();
        return fits ? bytes_.data() + TraceBuilder::chunk_offset(index) : nullptr;
    }
    void close_chunk(uint64_t, unsigned char*) override {}
    void trim(uint64_t) override {}
    int error() const override { return ENOSPC; }
    const Bytes& bytes() const { return bytes_; }

private:
    Bytes bytes_;
};

TEST_CASE("a full disk ends the file with its reason after the last whole record", "[record]") {
    for (const uint64_t chunk_count : {2, 3, 6}) {
        record::StackTable table;
        REQUIRE(table.init());
        SmallDisk disk(chunk_count);
        record::TraceWriter writer;
        writer.open(&disk, &table);
        const uint32_t context = table.intern_context(record::Context{0, 0, 0, 0, 0, 0});
        const uint64_t mark[] = {static_cast<uint64_t>(MarkKind::kTracingStarted), 0, 0};
        writer.put_extended(format::ExtendedType::kMark, mark, 3, 0);
        uint64_t level = 0;
        uint64_t sizes = 0;
        while (writer.is_open()) {
            AllocEvent event;
            event.address = ++sizes * 4096;
            event.requested_bytes = event.block_bytes = sizes;
            event.context = context;
            const uint64_t before = writer.event_count();
            writer.put_alloc(event, sizes * 3, level + sizes);
            level += writer.event_count() != before ? sizes : 0;
        }
        CHECK(writer.error() == ENOSPC);
        const auto reader = report::TraceReader::from_memory("disk", disk.bytes());
        const auto result = report::replay(reader, {});
        CHECK(result.chosen.peak_bytes == level);
        CHECK(result.health.event_count == writer.event_count() + 1);
        const auto problems = result.health.problems.texts();
        REQUIRE(problems.size() == 1);
        CHECK_THAT(problems[0], Catch::Contains("could not go on writing (No space left"));
    }
}

// Files and lines of the python stack of each context, by context.
std::vector<std::string> places(const report::Definitions& definitions) {
    std::vector<std::string> texts;
    for (uint32_t id = 1; id <= definitions.contexts.count(); ++id) {
        const uint32_t node = definitions.contexts[id].python_node;
        const auto& frame = definitions.python_frames[definitions.python_nodes[node].frame];
        texts.push_back(std::string(definitions.text(frame.file)) + ":" +
                        std::to_string(frame.line));
    }
    return texts;
}

TEST_CASE("a lost chunk of a real recording gives no wrong name", "[record]") {
    const TemporaryFile file;
    auto recorder = std::make_unique<Recorder>();
    REQUIRE(recorder->init(nullptr));
    Recorder::TraceOptions options = {};
    options.path = file.path();
    options.exists = record::FileTarget::Exists::kReplace;
    REQUIRE(recorder->open_trace(options) == 0);
    recorder->start_tracing();
    record::StackTable& table = recorder->table();
    for (uint32_t i = 1; i <= 20000; ++i) {
        const std::string name = "some/where/file" + std::to_string(i) + ".py";
        const uint32_t path = table.intern_string(name.data(), name.size());
        const uint32_t node =
            table.intern_python_node(0, table.intern_python_frame(path, path, path, i));
        AllocEvent event;
        event.address = i * 512;
        event.requested_bytes = event.block_bytes = 512;
        event.context = table.intern_context(record::Context{0, node, 0, 0, 0, 0});
        recorder->record_alloc(event, record::kUnknownTotal);
    }
    recorder->close_trace();
    const Bytes whole = file.bytes();
    const auto reader = report::TraceReader::from_memory("whole", whole);
    const auto expected = places(reader.definitions());
    size_t damaged_count = 0;
    for (size_t chunk = 0; chunk < reader.chunks().size(); ++chunk) {
        if (!reader.chunks()[chunk].is(format::ChunkType::kDefs)) {
            continue;
        }
        ++damaged_count;
        Bytes damaged = whole;
        damaged[TraceBuilder::chunk_offset(chunk) + sizeof(format::ChunkHeader) + 9] ^= 0x40;
        const auto found = report::TraceReader::from_memory("damaged", damaged);
        const auto names = places(found.definitions());
        size_t right = 0;
        for (size_t i = 0; i < std::min(names.size(), expected.size()); ++i) {
            const bool lost = names[i].compare(0, 15, report::kLostName) == 0;
            REQUIRE((lost || names[i] == expected[i]));
            right += lost ? 0 : 1;
        }
        CHECK(right + 1 >= expected.size() / 4);
        CHECK(report::replay(found, {}).chosen.peak_bytes == 20000 * 512);
    }
    CHECK(damaged_count >= 3);
}

}  // namespace
}  // namespace peakline::test
