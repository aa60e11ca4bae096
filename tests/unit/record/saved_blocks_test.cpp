// Blocks that autograd saves: the first time counts, in whole traces and in bounded ones.
#include "random_program.h"

namespace peakline::test {
namespace {

using record::Keep;

uint32_t context_at(Recorder& recorder, uint32_t line) {
    record::StackTable& table = recorder.table();
    const uint32_t file = table.intern_string("f.py", 4);
    const uint32_t frame = table.intern_python_frame(file, file, file, line);
    return table.intern_context(record::Context{0, table.intern_python_node(0, frame), 0, 0, 0, 0});
}

// Makes blocks, saves every third one, frees half of them; returns what it expects of the live
// ones: the context in which each was saved, by address.
std::map<uint64_t, uint32_t> run_program(Recorder& recorder, uint64_t count) {
    const uint32_t maker = context_at(recorder, 1);
    const uint32_t saver = context_at(recorder, 2);
    const uint32_t second = context_at(recorder, 3);
    std::map<uint64_t, uint32_t> saved_in;
    for (uint64_t i = 1; i <= count; ++i) {
        const uint64_t address = i << 13;
        recorder.record_alloc({address, 512, 512, maker, 0, 0}, record::kUnknownTotal);
        CHECK(recorder.is_unsaved(address));
        if (i % 3 == 0) {
            recorder.record_saved(address, saver);
            CHECK_FALSE(recorder.is_unsaved(address));
            recorder.record_saved(address, second);
        }
        if (i % 2 == 0) {
            recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
            CHECK_FALSE(recorder.is_unsaved(address));
        } else {
            saved_in[address] = i % 3 == 0 ? saver : 0;
        }
    }
    recorder.record_saved(0, saver);
    recorder.record_saved(2 << 13, saver);  // freed
    return saved_in;
}

std::vector<report::TrackedBlock> blocks_at_end(const report::TraceReader& reader) {
    const report::PhaseRules rules = report::make_phase_rules(reader.definitions());
    report::ReplayRequest request;
    request.moment.kind = report::MomentKind::kEnd;
    request.detail = report::Detail::kBlocks;
    request.phase_rules = &rules;
    return report::replay(reader, request).blocks.blocks;
}

TEST_CASE("a block knows in which operator it was first saved", "[record][saved]") {
    for (const Keep keep : {Keep{}, Keep{Keep::Kind::kPeak, 0}}) {
        INFO("keep " << static_cast<int>(keep.kind));
        const bool is_bounded = keep.kind != Keep::Kind::kAll;
        const TemporaryFile file;
        const auto recorder = start_recording(file.path(), keep);
        const auto saved_in = run_program(*recorder, is_bounded ? 300'000 : 3'000);
        const auto reader = report::TraceReader::open_file(file.path());
        const auto blocks = blocks_at_end(reader);
        REQUIRE(blocks.size() == saved_in.size());
        size_t known_count = 0;
        for (const report::TrackedBlock& block : blocks) {
            if (block.facts.is_restored) {  // from before the kept events
                CHECK(block.facts.saved_context == 0);
                continue;
            }
            ++known_count;
            CHECK(block.facts.saved_context == saved_in.at(block.facts.address));
            if (block.facts.saved_context != 0) {
                CHECK(block.facts.saved_tick >= block.facts.alloc_tick);
            }
        }
        CHECK(known_count > 1'000);
        CHECK((known_count < blocks.size()) == is_bounded);
    }
}

}  // namespace
}  // namespace peakline::test
