// Damaged, lost or hostile definitions: only the things that they name are lost.
#include "damaged_trace.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

constexpr const char* kTwoDefinitionChunks = R"(
    start
    alloc a 0x1000 100 stack=f.py:1:f;main.py:9:main class
    defchunk
    alloc b 0x2000 200 stack=f.py:2:f;main.py:9:main class
    alloc c 0x3000 400 stack=g.py:3:g
    defchunk
    alloc d 0x4000 800 stack=h.py:4:h;main.py:9:main class
    stop
    end
)";

// The place of the n-th DEFS chunk among all chunks.
size_t definition_chunk(const TraceBuilder& builder, size_t n) {
    for (size_t i = 0; i < builder.chunks().size(); ++i) {
        const bool defines =
            builder.chunks()[i].header.type == static_cast<uint16_t>(format::ChunkType::kDefs);
        if (defines && n-- == 0) {
            return i;
        }
    }
    throw std::out_of_range("not so many DEFS chunks");
}

TEST_CASE("a damaged chunk of definitions costs its own definitions only", "[report]") {
    TextTrace text(kTwoDefinitionChunks);
    Bytes file = text.bytes();
    const OpenTrace whole(file);
    const size_t damaged = definition_chunk(text.builder(), 1);
    file[TraceBuilder::chunk_offset(damaged) + kHeaderBytes] ^= 0xFF;
    const OpenTrace trace(file);
    // The class of b is lost and with it its size; c is in its event and loses only its line.
    CHECK(trace.rows().substr(0, trace.rows().find("test.peak")) ==
          "800 B  800 B  800 B  1  h.py:4 (h)\n"
          "400 B  1.172 KB  400 B  1  lost definition\n"
          "100 B  1.270 KB  100 B  1  f.py:1 (f)\n");
    const auto health = trace.replay().health;
    CHECK(mentions(health, "(definitions): its checksum differs: chunk skipped"));
    CHECK(mentions(health, "definitions are lost with damaged chunks"));
    CHECK(mentions(health, "1 allocations have no readable definition"));
    CHECK(mentions(health, "1 allocations name a context that is not defined"));
    CHECK(trace.reader.definitions().contexts[4].python_node ==
          whole.reader.definitions().contexts[4].python_node);
    CHECK_THAT(report::make_stats(trace.reader, {}, {}), Catch::Contains("lost definition"));
}

TEST_CASE("a stack whose caller is lost keeps the frames that are known", "[report]") {
    TextTrace text(
        "defchunk\n alloc a 0x1000 100 stack=main.py:9:main\n defchunk\n"
        "start\n alloc b 0x2000 200 stack=f.py:2:f;main.py:9:main class\n stop\n end\n");
    Bytes file = text.bytes();
    const size_t damaged = definition_chunk(text.builder(), 1);
    set_header(file, damaged, [](auto& header) { header.magic = 7; });
    report::SelectionText by;
    by.by = "stack";
    CHECK_THAT(OpenTrace(file).rows(by),
               Catch::StartsWith("200 B  200 B  200 B  1  f.py:2 (f) <- "
                                 "lost definition\n"));
}

TEST_CASE("ids in a header that do not follow the earlier ones are ignored", "[report]") {
    TextTrace text(kTwoDefinitionChunks);
    const Bytes whole = text.bytes();
    for (const uint32_t wrong : {0U, 1U, 3U, UINT32_MAX}) {
        for (size_t type = 1; type <= 10; ++type) {
            for (const size_t chunk : {0, 1, 2}) {
                Bytes file = whole;
                set_header(file, definition_chunk(text.builder(), chunk), [&](auto& header) {
                    header.first_ids[type] =
                        wrong == 3 ? header.first_ids[type] + 1 : wrong - (chunk == 0 ? 0 : 1);
                    header.flags = 0;  // as in a killed recording: no checksum
                });
                const std::string rows = OpenTrace(file).rows();
                for (const char* line : {"f.py:1 (f)", "f.py:2 (f)", "g.py:3 (g)", "h.py:4 (h)"}) {
                    const size_t at = rows.find(line);
                    const size_t start = at == std::string::npos ? 0 : rows.rfind('\n', at) + 1;
                    const char* size = line[5] == '1'   ? "100 B"
                                       : line[5] == '2' ? "200 B"
                                       : line[5] == '3' ? "400 B"
                                                        : "800 B";
                    CHECK((at == std::string::npos || rows.compare(start, 5, size) == 0));
                }
            }
        }
    }
}

TEST_CASE("damage in definitions costs the names and sizes of later chunks", "[report]") {
    TextTrace text(kThreeChunks);
    Bytes file = text.bytes();
    file[TraceBuilder::chunk_offset(0) + kHeaderBytes + 3] ^= 0xFF;
    const auto result = OpenTrace(file).replay();
    CHECK(result.chosen.peak_bytes == 700);
    CHECK(mentions(result.health, "2 allocations have no readable definition"));
    CHECK(mentions(result.health, "3 allocations name a context that is not defined"));
}

TEST_CASE("definitions that refer to unknown ids keep their own ids", "[report]") {
    TraceBuilder builder;
    const uint32_t file = builder.define_string("f.py");
    builder.define(format::DefType::kPythonFrame, fields({77, 0, 0, 1}));
    const uint32_t good = builder.define(format::DefType::kPythonFrame, fields({file, 0, 0, 2}));
    builder.define(format::DefType::kPythonNode, fields({9, good}));  // its own descendant
    const uint32_t node = builder.define(format::DefType::kPythonNode, fields({0, good}));
    builder.define(format::DefType::kContext, fields({0, node, 0, 0, 0, 0}));
    builder.define(static_cast<format::DefType>(77), fields({1, 2, 3}));  // of a newer minor
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({1, 0, 0, 8, 0}), 1);
    builder.extended(static_cast<format::ExtendedType>(77), fields({1, 2, 3}));
    builder.mark(format::MarkKind::kProcessEnd);
    const OpenTrace trace(builder.finish());
    CHECK_THAT(trace.rows(), Catch::StartsWith("8 B  8 B  8 B  1  f.py:2\n"));
    CHECK(mentions(trace.replay().health, "2 definitions refer to undefined ids"));
}

TEST_CASE("a chain of nodes deeper than any recorder writes does not make endless stacks",
          "[report]") {
    constexpr uint32_t kNodes = 5000;
    TraceBuilder builder;
    const uint32_t file = builder.define_string("f.py");
    const uint32_t frame = builder.define(format::DefType::kPythonFrame, fields({file, 0, 0, 2}));
    uint32_t node = 0;
    for (uint32_t i = 0; i < kNodes; ++i) {
        node = builder.define(format::DefType::kPythonNode, fields({node, frame}));
    }
    const uint32_t context =
        builder.define(format::DefType::kContext, fields({0, node, 0, 0, 0, 0}));
    builder.mark(format::MarkKind::kTracingStarted);
    builder.alloc_inline(fields({context, 0, 0, 8, 0}), 1);
    const OpenTrace trace(builder.finish());
    const report::StackLookup stacks(trace.reader.definitions(), {});
    CHECK(stacks.stack_of(context).frames.size() == kNodes % 1024);
    CHECK(mentions(trace.replay().health, "4 definitions refer to undefined ids"));
}

TEST_CASE("events with undefined ids are counted, and read without them", "[report]") {
    TraceBuilder builder;
    builder.mark(format::MarkKind::kTracingStarted);
    builder.put(format::Segment{format::SegmentAction::kAlloc, 0, 99, 4096, 4096});
    builder.put(format::Segment{format::SegmentAction::kAlloc, uint64_t{1} << 40, 0, 4096, 4096});
    builder.put(format::Scope{format::ScopeAction::kBegin, 99, 99});
    builder.put(format::OutOfMemory{99, 0, 4096, 0});
    builder.alloc_inline(fields({0, 0, 99, 8, 0}), 1);
    builder.mark(format::MarkKind::kProcessEnd);
    const OpenTrace trace(builder.finish());
    const auto result = trace.replay();
    CHECK(result.chosen.peak_bytes == 8);
    CHECK(mentions(result.health,
                   "3 events name a thread, stream, context or text that is not defined"));
    CHECK(mentions(result.health, "1 events name a device that cannot be"));
}

}  // namespace
}  // namespace peakline::test
