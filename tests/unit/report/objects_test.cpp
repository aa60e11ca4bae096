// What the objects of the program tell about stacks and blocks: module instances, names of tensors.
#include <memory>

#include "allocator/record/recorder.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using format::TensorKind;
using record::Recorder;

// A recorder that writes to a file, with blocks of 512 bytes at chosen addresses.
class Recording {
public:
    Recording() : recorder_(std::make_unique<Recorder>()) {
        REQUIRE(recorder_->init(nullptr));
        open();
        recorder_->start_tracing();
    }
    ~Recording() { unlink(kPath); }

    Recorder& recorder() { return *recorder_; }
    record::StackTable& table() { return recorder_->table(); }

    void open() {
        Recorder::TraceOptions options = {};
        options.path = kPath;
        options.exists = record::FileTarget::Exists::kReplace;
        REQUIRE(recorder_->open_trace(options) == 0);
    }

    void alloc(uint64_t address) {
        record::AllocEvent event;
        event.address = address;
        event.requested_bytes = event.block_bytes = 512;
        event.context = table().intern_context(record::Context{0, 0, 0, 0, 0, 0});
        recorder_->record_alloc(event, record::kUnknownTotal);
    }
    void free(uint64_t address) {
        recorder_->record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
    }
    size_t tell(uint64_t address, TensorKind kind, const std::string& name) {
        const uint32_t string = table().intern_string(name.data(), name.size());
        const Recorder::ToldTensor told = {
            address, table().intern_tensor({kind, string, 0, 0}), kind};
        return recorder_->tell_tensors(&told, 1);
    }

    report::TraceReader close() {
        recorder_->close_trace();
        return report::TraceReader::open_file(kPath);
    }

private:
    static constexpr const char* kPath = "/tmp/peakline-objects-test.peak";
    std::unique_ptr<Recorder> recorder_;
};

std::string name_at(const report::TraceReader& reader, uint64_t ordinal) {
    const report::Definitions& all = reader.definitions();
    const uint32_t tensor = all.tensor_of(ordinal);
    if (tensor == 0) {
        return "-";
    }
    return std::to_string(static_cast<uint32_t>(all.tensor(tensor).kind)) + " " +
           std::string(all.text(all.tensor(tensor).name));
}

TEST_CASE("a tensor is told of the block that is live at its address", "[record][objects]") {
    Recording recording;
    recording.alloc(0x1000);  // ordinal 0
    recording.alloc(0x2000);
    CHECK(recording.tell(0x1000, TensorKind::kParameter, "weight") == 0);
    CHECK(recording.tell(0x1200, TensorKind::kParameter, "inside of a block") == 1);
    recording.free(0x1000);
    CHECK(recording.tell(0x1000, TensorKind::kParameter, "after the free") == 1);
    recording.alloc(0x1000);  // ordinal 2, the same address
    recording.tell(0x1000, TensorKind::kGradient, "weight");
    const auto reader = recording.close();
    CHECK(name_at(reader, 0) == "1 weight");
    CHECK(name_at(reader, 1) == "-");
    CHECK(name_at(reader, 2) == "3 weight");
    CHECK(name_at(reader, 3) == "-");
}

TEST_CASE("a block is told once for its kind, and anew in a new trace", "[record][objects]") {
    Recording recording;
    recording.alloc(0x1000);
    recording.tell(0x1000, TensorKind::kBuffer, "first");
    const uint64_t bytes = recording.recorder().counters().trace_bytes;
    recording.tell(0x1000, TensorKind::kBuffer, "first");
    CHECK(recording.recorder().counters().trace_bytes == bytes);
    recording.tell(0x1000, TensorKind::kParameter, "second");
    CHECK(name_at(recording.close(), 0) == "1 second");
    recording.open();
    recording.tell(0x1000, TensorKind::kParameter, "second");
    CHECK(name_at(recording.close(), 0) == "1 second");
}

TEST_CASE("more tensors than one record holds are all told", "[record][objects]") {
    Recording recording;
    std::vector<Recorder::ToldTensor> told;
    for (uint32_t i = 1; i <= 5000; ++i) {
        recording.alloc(i * 512);
        const std::string name = "p" + std::to_string(i);
        const uint32_t string = recording.table().intern_string(name.data(), name.size());
        told.push_back({i * 512,
                        recording.table().intern_tensor({TensorKind::kParameter, string, 0, 0}),
                        TensorKind::kParameter});
    }
    CHECK(recording.recorder().tell_tensors(told.data(), told.size()) == 0);
    const auto reader = recording.close();
    for (uint32_t i = 1; i <= 5000; ++i) {
        REQUIRE(name_at(reader, i - 1) == "1 p" + std::to_string(i));
    }
}

TEST_CASE("the last thing told of an instance counts", "[report][objects]") {
    const OpenTrace trace("instance 2 Linear\n instance 2 Linear root=Model path=layers.0.up\n");
    const report::Definitions& all = trace.reader.definitions();
    CHECK(all.text(all.instance(2).path) == "layers.0.up");
    CHECK(all.text(all.instance(2).root) == "Model");
    CHECK(all.text(all.instance(1).class_name).empty());
    CHECK(all.text(all.instance(3).class_name).empty());
}

TEST_CASE("impossible objects are counted and named by nobody", "[report][objects]") {
    TraceBuilder builder;
    const uint32_t name = builder.define_string("weight");
    builder.define_unnumbered(format::DefType::kInstance, fields({1ULL << 31, name, 0, 0}));
    builder.define_unnumbered(format::DefType::kTensor, fields({1, 99, name, 0, 0}));
    builder.define_unnumbered(format::DefType::kTensor, fields({2, 1}));  // cut
    builder.define_unnumbered(format::DefType::kTensorBlocks, fields({0, 1, 2, 7, 4}));
    const OpenTrace trace(builder.finish());
    CHECK(name_at(trace.reader, 0) == "-");  // a kind of a later version
    CHECK(name_at(trace.reader, 1) == "-");  // a tensor that is not defined
    CHECK(trace.reader.definitions().instances.empty());
}

}  // namespace
}  // namespace peakline::test
