// Holders of blocks: the records of a recorder, and the report.
#include "report/views/blocks/holders.h"

#include <memory>

#include <unistd.h>

#include "allocator/record/recorder.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using format::HolderKind;
using format::HoldReason;
using record::LiveBlock;
using record::Recorder;

constexpr const char* kTwoSearches = R"(
    start
    alloc a 0x1000 512 stack=f.py:1:f
    alloc b 0x2000 1024 stack=f.py:2:f
    search 1 reason=2 step=7 blocks=2
    holder 1 a 1 train.losses[3] stack=f.py:1:f
    holder 1 a 2 loss of main (train.py:4) more=5 stack=f.py:1:f
    holder 1 b 0 bytes=1024 stack=f.py:2:f
    search 2 flags=1
    holder 2 b 10 Node.data bytes=1024 stack=f.py:2:f
    stop
    end
)";

report::HolderList holders(const OpenTrace& trace, uint32_t search) {
    report::StackLookup stacks(trace.reader.definitions(), {});
    return report::build_holders("test.peak", search, stacks);
}

std::string text_of(const OpenTrace& trace, const char* name, uint32_t search = 0) {
    report::ReportOptions options;
    options.search = search;
    options.selection.at = "end";
    return report::find_report(name)(trace.reader, options, {});
}

TEST_CASE("a search shows its blocks, the largest first", "[report][holders]") {
    const OpenTrace trace{std::string(kTwoSearches)};
    const report::HolderList list = holders(trace, 1);
    CHECK(list.search.reason == HoldReason::kStep);
    CHECK(list.search.step == 7);
    REQUIRE(list.rows.size() == 2);
    CHECK(list.rows[0].holders.empty());
    CHECK(list.rows[0].block.block_bytes == 1024);
    REQUIRE(list.rows[1].holders.size() == 2);
    CHECK(list.rows[1].holders[0]->text == "train.losses[3]");
    CHECK(list.rows[1].holders[1]->kind == HolderKind::kLocal);
    CHECK(list.rows[1].more_count == 5);
    CHECK(list.rows[1].made_at.key == "f.py:1 (f)");
    CHECK(list.found_count == 1);
    CHECK(list.found_bytes == 512);
    CHECK(list.total_bytes == 1536);
}

TEST_CASE("without a number the last search is shown", "[report][holders]") {
    const OpenTrace trace{std::string(kTwoSearches)};
    const std::string text = text_of(trace, "holders");
    CHECK(text.find("Node.data") != std::string::npos);
    CHECK(text.find("train.losses") == std::string::npos);
    CHECK(text.find("The time was up") != std::string::npos);
    CHECK(text.find("Search 2 of 2") != std::string::npos);
    CHECK_THROWS_WITH(holders(trace, 3), Catch::Contains("has no search 3, only 1 to 2"));
}

TEST_CASE("tensors have the holder that the last search of the block found", "[report][holders]") {
    const std::string text = text_of(OpenTrace{std::string(kTwoSearches)}, "tensors");
    CHECK(text.find("train.losses[3]") != std::string::npos);
    CHECK(text.find("Node.data") != std::string::npos);
    CHECK(text.find("loss of main") == std::string::npos);
}

TEST_CASE("a trace without a search says how to make one", "[report][holders]") {
    const OpenTrace trace("start\n alloc a 0x1000 512\n end\n");
    CHECK_THROWS_WITH(holders(trace, 0), Catch::Contains("peakline run --hold STEP"));
    CHECK(text_of(trace, "tensors").find("Held by") == std::string::npos);
}

TEST_CASE("impossible holders are counted and not shown", "[report][holders]") {
    TraceBuilder builder;
    const Bytes search = fields({1, 0, 1, 0, 1, 1, 1, 0});
    builder.define_unnumbered(format::DefType::kHolderSearch, search);
    builder.define_unnumbered(format::DefType::kHolderSearch, fields({2, 0}));  // cut
    const auto put = [&](uint64_t bytes, uint64_t device, uint64_t context, uint64_t kind) {
        builder.define_unnumbered(format::DefType::kHolder,
                                  fields({1, 0, 0, bytes, bytes, context, 0, device, kind, 0}));
    };
    put(uint64_t{1} << 60, 0, 0, 1);  // more than there is
    put(512, 99'999, 0, 1);           // no device
    put(512, 0, 77, 99);              // an unknown context, and a kind of a later version
    const OpenTrace trace(builder.finish());
    CHECK(trace.reader.definitions().holder_searches.size() == 1);
    REQUIRE(trace.reader.definitions().holders.size() == 1);
    CHECK(std::string(report::kind_name(trace.reader.definitions().holders[0].kind)) == "unknown");
}

// ---- the recorder ------------------------------------------------------------------------------

class HolderRecording {
public:
    HolderRecording() : recorder_(std::make_unique<Recorder>()) {
        REQUIRE(recorder_->init(nullptr));
        open();
    }
    ~HolderRecording() { unlink(kPath); }

    Recorder& recorder() { return *recorder_; }
    void open() {
        Recorder::TraceOptions options = {};
        options.path = kPath;
        options.exists = record::FileTarget::Exists::kReplace;
        REQUIRE(recorder_->open_trace(options) == 0);
    }
    void alloc(uint64_t address, uint64_t bytes) {
        record::AllocEvent event;
        event.address = address;
        event.requested_bytes = event.block_bytes = bytes;
        event.context = recorder_->table().intern_context(record::Context{});
        recorder_->record_alloc(event, record::kUnknownTotal);
    }
    void free(uint64_t address) {
        recorder_->record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
    }
    std::vector<LiveBlock> live() {
        std::vector<LiveBlock> blocks(recorder_->copy_live_blocks(nullptr, 0));
        REQUIRE(recorder_->copy_live_blocks(blocks.data(), blocks.size()) == blocks.size());
        return blocks;
    }
    report::TraceReader close() {
        recorder_->close_trace();
        return report::TraceReader::open_file(kPath);
    }

private:
    static constexpr const char* kPath = "holders_test.peak";
    std::unique_ptr<Recorder> recorder_;
};

Recorder::FoundHolder found_of(const LiveBlock& block, const std::string& text) {
    return {block.address, block.ordinal, HolderKind::kGlobal, 0, text.data(), text.size()};
}

TEST_CASE("holders refer to blocks that are still live", "[record][holders]") {
    HolderRecording recording;
    recording.alloc(0x10000, 512);
    recording.alloc(0x20000, 1024);
    recording.alloc(0x30000, 2048);
    const std::vector<LiveBlock> blocks = recording.live();
    REQUIRE(blocks.size() == 3);
    recording.free(0x20000);
    recording.free(0x30000);
    recording.alloc(0x30000, 2048);  // another block at the same address
    std::vector<Recorder::FoundHolder> found;
    const std::string text = "train.x";
    for (const LiveBlock& block : blocks) {
        found.push_back(found_of(block, text));
    }
    CHECK(recording.recorder().record_holders({}, found.data(), found.size()) == 1);
    CHECK(recording.recorder().record_holders({}, nullptr, 0) == 2);
    const report::TraceReader reader = recording.close();
    CHECK(reader.definitions().holder_searches.size() == 2);
    REQUIRE(reader.definitions().holders.size() == 1);
    CHECK(reader.definitions().holders[0].address == 0x10000);
    CHECK(reader.definitions().holders[0].ordinal == 0);
    CHECK(reader.definitions().holders[0].text == "train.x");
}

TEST_CASE("ordinals of holders are those of their file", "[record][holders]") {
    HolderRecording recording;
    recording.alloc(0x10000, 512);
    recording.free(0x10000);
    recording.alloc(0x20000, 1024);
    recording.recorder().close_trace();
    recording.open();  // where the live block is the first one
    const std::string text = "train.y";
    const Recorder::FoundHolder found = found_of(recording.live().at(0), text);
    CHECK(recording.recorder().record_holders({}, &found, 1) == 1);
    const report::TraceReader reader = recording.close();
    REQUIRE(reader.definitions().holders.size() == 1);
    CHECK(reader.definitions().holders[0].ordinal == 0);
}

TEST_CASE("without a trace, or with too many holders in it, nothing is written", "[record]") {
    HolderRecording recording;
    recording.alloc(0x10000, 512);
    const std::string text = "train.z";
    const std::vector<Recorder::FoundHolder> many(15'000, found_of(recording.live().at(0), text));
    CHECK(recording.recorder().record_holders({}, many.data(), many.size()) == 1);
    CHECK(recording.recorder().record_holders({}, many.data(), many.size()) == 0);
    const report::TraceReader reader = recording.close();
    CHECK(reader.definitions().holders.size() == 15'000);
    CHECK(recording.recorder().record_holders({}, nullptr, 0) == 0);
}

}  // namespace
}  // namespace peakline::test
