// Facts about stacks and blocks from the objects of the program: module instances, tensor names.
#include <memory>
#include <utility>
#include <vector>

#include "allocator/record/recorder.h"
#include "report/render/format/tensor_type.h"
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
        const Recorder::ReportedTensor told = {
            address, table().intern_tensor({kind, string, 0, 0}), kind};
        return recorder_->report_tensors(&told, 1);
    }

    uint32_t type(const char* dtype, const std::vector<int64_t>& sizes) {
        return table().intern_tensor_type(dtype, sizes.data(), sizes.size());
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

// "float32 [2, 3]", "-" for a block without.
std::string type_at(const report::TraceReader& reader, uint64_t ordinal) {
    const report::Definitions& all = reader.definitions();
    const uint32_t type = all.type_of(ordinal);
    return type == 0 ? "-" : report::tensor_type_text(all, type);
}

TEST_CASE("a tensor is recorded for the block that is live at its address", "[record][objects]") {
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

TEST_CASE("a block is recorded once for its kind, and again in a new trace", "[record][objects]") {
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

TEST_CASE("more tensors than fit in one record are all recorded", "[record][objects]") {
    Recording recording;
    std::vector<Recorder::ReportedTensor> told;
    for (uint32_t i = 1; i <= 5000; ++i) {
        recording.alloc(i * 512);
        const std::string name = "p" + std::to_string(i);
        const uint32_t string = recording.table().intern_string(name.data(), name.size());
        told.push_back({i * 512,
                        recording.table().intern_tensor({TensorKind::kParameter, string, 0, 0}),
                        TensorKind::kParameter});
    }
    CHECK(recording.recorder().report_tensors(told.data(), told.size()) == 0);
    const auto reader = recording.close();
    for (uint32_t i = 1; i <= 5000; ++i) {
        REQUIRE(name_at(reader, i - 1) == "1 p" + std::to_string(i));
    }
}

TEST_CASE("the inputs of a module are the live blocks at their addresses", "[record][objects]") {
    Recording recording;
    recording.alloc(0x1000);  // ordinal 0
    recording.alloc(0x2000);
    recording.free(0x1000);
    recording.alloc(0x1000);  // ordinal 2, the same address
    const uint64_t inputs[] = {0x2000, 0x1000, 0x3000, 0};
    recording.recorder().report_inputs(7, inputs, 4);
    recording.recorder().report_inputs(8, inputs, 1);
    const auto reader = recording.close();
    std::vector<std::pair<uint32_t, uint64_t>> found;
    for (const report::ModuleInput& input : reader.definitions().module_inputs) {
        found.emplace_back(input.instance, input.ordinal);
    }
    CHECK(found == std::vector<std::pair<uint32_t, uint64_t>>{{7, 1}, {7, 2}, {8, 1}});
}

TEST_CASE("a tensor's type is recorded with its name", "[record][objects]") {
    Recording recording;
    recording.alloc(0x1000);
    recording.alloc(0x2000);
    recording.alloc(0x3000);
    const uint32_t name = recording.table().intern_text("weight");
    const uint32_t tensor = recording.table().intern_tensor({TensorKind::kParameter, name, 0, 0});
    const uint32_t large = recording.type("bfloat16", {1, 0, 1LL << 62});
    CHECK(recording.type("bfloat16", {1, 0, 1LL << 62}) == large);
    CHECK(recording.type("float16", {1, 0, 1LL << 62}) != large);
    CHECK(recording.type("float32", std::vector<int64_t>(65, 1)) == 0);
    const Recorder::ReportedTensor told[] = {
        {0x1000, tensor, TensorKind::kParameter, large},
        {0x2000, tensor, TensorKind::kParameter},
        {0x3000, tensor, TensorKind::kParameter, recording.type("float32", {})}};
    CHECK(recording.recorder().report_tensors(told, 3) == 0);
    const auto reader = recording.close();
    CHECK(type_at(reader, 0) == "bfloat16 [1, 0, 4611686018427387904]");
    CHECK(type_at(reader, 1) == "-");
    CHECK(name_at(reader, 1) == "1 weight");
    CHECK(type_at(reader, 2) == "float32 []");
    CHECK(type_at(reader, 3) == "-");
}

TEST_CASE("an operator made the blocks that are not older than it", "[record][objects]") {
    Recording recording;
    recording.alloc(0x1000);
    const uint64_t begin = recording.recorder().block_count();
    recording.alloc(0x2000);
    recording.alloc(0x3000);
    recording.free(0x3000);
    const uint32_t type = recording.type("int64", {4, 7});
    const Recorder::MadeTensor made[] = {{0x1000, type}, {0x2000, type}, {0x3000, type}, {0, type}};
    recording.recorder().report_made_tensors(begin, made, 4);
    const auto reader = recording.close();
    CHECK(type_at(reader, 0) == "-");
    CHECK(type_at(reader, 1) == "int64 [4, 7]");
    CHECK(type_at(reader, 2) == "-");
    CHECK(name_at(reader, 1) == "-");
}

TEST_CASE("the last report of an instance counts", "[report][objects]") {
    const OpenTrace trace("instance 2 Linear\n instance 2 Linear root=Model path=layers.0.up\n");
    const report::Definitions& all = trace.reader.definitions();
    CHECK(all.text(all.instance(2).path) == "layers.0.up");
    CHECK(all.text(all.instance(2).root) == "Model");
    CHECK(all.text(all.instance(1).class_name).empty());
    CHECK(all.text(all.instance(3).class_name).empty());
}

TEST_CASE("impossible objects are counted and not shown", "[report][objects]") {
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

TEST_CASE("impossible types of tensors are ignored", "[report][objects]") {
    TraceBuilder builder;
    const uint32_t dtype = builder.define_string("float32");
    const auto define = [&builder](std::initializer_list<uint64_t> values) {
        builder.define_unnumbered(format::DefType::kTensorType, fields(values));
    };
    define({1, 99, 2});              // a dtype that is not defined
    define({2, dtype, UINT64_MAX});  // no size
    define({1ULL << 31, dtype, 2});  // a number that would fill the memory
    Bytes deep = fields({3, dtype});
    deep.resize(deep.size() + 65, 1);  // more sizes than any tensor has
    builder.define_unnumbered(format::DefType::kTensorType, deep);
    define({4, dtype, 2});
    builder.define_unnumbered(format::DefType::kBlockTypes,
                              fields({0, 1, 2, 2, 2, 3, 2, 4, 2, 5, 1, 4}));
    const OpenTrace trace(builder.finish());
    for (const uint64_t ordinal : {0, 1, 2, 4, 5}) {
        CHECK(type_at(trace.reader, ordinal) == "-");
    }
    CHECK(type_at(trace.reader, 3) == "float32 [2]");
}

}  // namespace
}  // namespace peakline::test
