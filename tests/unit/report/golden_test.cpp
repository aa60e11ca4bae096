// Traces of every kind and format version that was ever written keep reading, with the same
// answers. Files in tests/data/golden: NAME.packed (tests/fuzz/packed_trace.h) and NAME.txt, the
// reports expected of it. A new kind: add it to make_golden below, then run
// `build/unit_tests "write the golden traces"` and check its output.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "allocator/record/recorder.h"
#include "plain_text.h"
#include "report/reports/report.h"
#include "report/trace/file/trace_error.h"
#include "tests/fuzz/packed_trace.h"
#include "tests/unit/catching.h"
#include "trace_builder.h"

namespace peakline::test {
namespace {

constexpr const char* kFolder = "tests/data/golden";

Bytes bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The report under its headline, or why there is none.
std::string text_of(const std::string& headline,
                    report::MakeReport make,
                    const report::TraceReader& reader,
                    const report::ReportOptions& options) {
    try {
        return "== " + headline + "\n" + plain_text(make(reader, options, {}));
    } catch (const report::TraceError& error) {
        return std::string(error.what()) + "\n";
    }
}

std::string reports_of(const Bytes& packed) {
    const Bytes file = unpack(packed);
    const auto reader = report::TraceReader::from_memory("golden", file);
    std::string text;
    report::ReportOptions options;
    for (const char* at : {"peak", "end", "forward"}) {
        options.selection.at = at;
        text += text_of(std::string("table --at ") + at, report::make_table, reader, options);
    }
    text += text_of("stats", report::make_stats, reader, {});
    if (!reader.definitions().meta_text("frees").empty()) {
        options.selection.at = "peak";
        options.selection.by = "freed-by";
        text += text_of("table --by freed-by", report::make_table, reader, options);
    }
    return text;
}

TEST_CASE("golden traces are read with the same results", "[report]") {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
        if (entry.path().extension() != ".packed") {
            continue;
        }
        INFO(entry.path().string());
        std::filesystem::path expected = entry.path();
        const Bytes text = bytes_of(expected.replace_extension(".txt"));
        CHECK(reports_of(bytes_of(entry.path())) == std::string(text.begin(), text.end()));
        ++count;
    }
    CHECK(count >= 5);
}

// ---- writing them -----------------------------------------------------------------------------

uint32_t stack_of(record::StackTable& table, const std::string& name, uint32_t line) {
    const std::string file = "/train/" + name + ".py";
    const uint32_t path = table.intern_string(file.data(), file.size());
    const uint32_t function = table.intern_string(name.data(), name.size());
    const uint32_t node =
        table.intern_python_node(0, table.intern_python_frame(path, function, function, line));
    const uint32_t thread = table.add_thread(4711, "python", 6);
    return table.intern_context(record::Context{thread, node, 0, 0, 0, 0});
}

// Where they are given up is told.
void record_frees(record::Recorder& recorder) {
    using record::kUnknownTotal;
    record::StackTable& table = recorder.table();
    const uint32_t model = stack_of(table, "model", 12);
    const uint32_t end = stack_of(table, "model", 15);
    const uint32_t late = stack_of(table, "loop", 7);
    recorder.put_meta("frees", "stacks", 6);
    recorder.start_tracing();
    recorder.record_alloc({0x10000, 60000, 61440, model, 0, 0}, kUnknownTotal);
    recorder.record_alloc({0x20000, 30000, 30208, model, 0, 0}, kUnknownTotal);
    recorder.record_free(0x10000, 0, record::Recorder::FreeKind::kDeferred, kUnknownTotal, end);
    recorder.record_free(0x20000, 0, record::Recorder::FreeKind::kCompleted, kUnknownTotal, late);
    recorder.record_free_completed(0x10000);
}

// A forward phase that frees all its blocks but one, and one block on another device.
void record_some(record::Recorder& recorder) {
    using record::AllocEvent;
    using record::kUnknownTotal;
    record::StackTable& table = recorder.table();
    const uint32_t model = stack_of(table, "model", 12);
    const uint32_t loss = stack_of(table, "loss", 34);
    const uint32_t forward = table.intern_string("forward", 7);
    recorder.record_alloc({0x1000, 4000, 4096, recorder.untraced_context(), 0, 0}, kUnknownTotal);
    recorder.start_tracing();
    recorder.record_mark(format::MarkKind::kPhaseBegin, 1, forward);
    recorder.record_alloc({0x10000, 60000, 61440, model, 0, 0}, kUnknownTotal);
    recorder.record_alloc({0x20000, 30000, 30208, loss, 0, 0}, kUnknownTotal);
    recorder.record_free(0x10000, 0, record::Recorder::FreeKind::kDeferred, kUnknownTotal);
    recorder.record_free_completed(0x10000);
    recorder.record_mark(format::MarkKind::kPhaseEnd, 1, forward);
    recorder.record_alloc({0x30000, 512, 512, model, 0, 1}, kUnknownTotal);
}

void write_golden(const std::string& name, Bytes packed) {
    std::ofstream(std::string(kFolder) + "/" + name + ".packed", std::ios::binary)
        .write(reinterpret_cast<const char*>(packed.data()),
               static_cast<std::streamsize>(packed.size()));
    std::ofstream(std::string(kFolder) + "/" + name + ".txt") << reports_of(packed);
}

struct Recording {
    record::Keep keep;
    const char* keep_text;
    bool closes;
    void (*record)(record::Recorder&) = record_some;
};

void make_golden(const std::string& name, const Recording& recording) {
    auto recorder = std::make_unique<record::Recorder>();
    REQUIRE(recorder->init(nullptr));
    const std::string path = std::string(kFolder) + "/" + name + ".tmp";
    record::Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kReplace;
    options.keep = recording.keep;
    REQUIRE(recorder->open_trace(options) == 0);
    recorder->put_meta("keep", recording.keep_text, std::string(recording.keep_text).size());
    recording.record(*recorder);
    if (recording.closes) {
        recorder->close_trace();
    }
    write_golden(name, pack(bytes_of(path)));
    std::filesystem::remove(path);
}

TEST_CASE("write the golden traces", "[.]") {
    std::filesystem::create_directories(kFolder);
    using Kind = record::Keep::Kind;
    make_golden("v1.0-all", {{Kind::kAll, 0}, "all", true});
    make_golden("v1.0-all-killed", {{Kind::kAll, 0}, "all", false});
    make_golden("v1.0-all-totals", {{Kind::kAll, 0}, "all", true});
    make_golden("v1.0-all-frees", {{Kind::kAll, 0}, "all", true, record_frees});
    make_golden("v1.0-keep-peak", {{Kind::kPeak, 0}, "peak", true});
    make_golden("v1.0-keep-last-killed", {{Kind::kLast, 1 << 24}, "last:16MiB", false});
    auto recorder = std::make_unique<record::Recorder>();
    REQUIRE(recorder->init(nullptr));
    record_some(*recorder);
    record::MemoryTarget image;
    REQUIRE(recorder->write_summary(&image, ""));
    write_golden("v1.0-summary", pack({image.data(), image.size()}));
}

}  // namespace
}  // namespace peakline::test
