// Recordings that end badly: a full disk, and a chunk lost afterwards.
#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "random_program.h"

namespace peakline::test {
namespace {

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
    void clear_chunk_slow(uint64_t) override {}
    void trim(uint64_t, uint64_t) override {}
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
        writer.put(format::Mark{MarkKind::kTracingStarted, 0, 0}, 0);
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

TEST_CASE("a disk without room for the totals leaves a trace with a clean end", "[record]") {
    record::StackTable table;
    REQUIRE(table.init());
    SmallDisk disk(2);
    record::TraceWriter writer;
    writer.open(&disk, &table);
    const uint32_t context = table.intern_context(record::Context{0, 0, 0, 0, 0, 0});
    writer.put(format::Mark{MarkKind::kTracingStarted, 0, 0}, 0);
    writer.put_alloc(AllocEvent{4096, 100, 512, context, 0, 0}, 1, 512);
    writer.put(format::Mark{MarkKind::kProcessEnd, 0, 0}, 2);
    writer.put_totals();
    CHECK(writer.is_open());
    writer.close();
    CHECK(writer.error() == 0);
    const auto reader = report::TraceReader::from_memory("disk", disk.bytes());
    CHECK(reader.whole_totals() == nullptr);
    const auto result = report::replay(reader, {});
    CHECK(result.health.clean_end);
    CHECK(result.health.event_count == 3);
    CHECK(result.health.problems.texts() == std::vector<std::string>{});
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
    const auto recorder = start_recording(file.path());
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
