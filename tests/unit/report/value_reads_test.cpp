// The section about values that a simulated device does not have.
#include <catch2/catch.hpp>

#include "report_testing.h"

namespace peakline::test {
namespace {

constexpr const char* kReads = R"(
    meta simulated h200
    start
    alloc a 0x1000 2048 stack=/p/train.py:9:main
    read 4 stack=/p/train.py:5:step op=aten::index>aten::nonzero flags=1
    read 4 stack=/p/train.py:5:step op=aten::index>aten::nonzero flags=1
    read 8 stack=/p/train.py:6:step op=aten::_unique2>aten::item>aten::_local_scalar_dense flags=1
    read 8 stack=/p/train.py:7:step op=aten::item>aten::_local_scalar_dense
    read 8 stack=/p/train.py:8:step op=aten::item>aten::_local_scalar_dense flags=2
    read 99 stack=/s/site-packages/torch/_tensor_str.py:1:f;/p/train.py:9:main op=aten::nonzero flags=1
    read 64 stack=/p/train.py:10:main op=aten::to>aten::copy_
    stop
    end
)";

std::string section(const std::string& text) {
    return text.substr(text.find("\nValues read"));
}

TEST_CASE("values that do not exist are listed by line, the most harmful first", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    const std::string text = section(report::make_table(trace.reader, {}));
    CHECK(text ==
          "\nValues read that do not exist on a simulated device (taken as zero; --assume "
          "FILE:LINE=VALUE gives yours):\n"
          "  /p/train.py:5 (step)  aten::nonzero  2 times  a size: tensors made of it have the "
          "wrong size\n"
          "  /p/train.py:6 (step)  aten::_unique2  1 time  a size: tensors made of it have the "
          "wrong size\n"
          "  /p/train.py:7 (step)  aten::item  1 time  a number: what the program decides by it "
          "may be wrong\n"
          "  /p/train.py:10 (main)  aten::copy_  1 time  copied to the host: sizes computed from "
          "it may be wrong\n"
          "  /p/train.py:9 (main)  aten::nonzero  1 time  only printed\n"
          "  /p/train.py:8 (step)  aten::item  1 time  assumed, as you said\n");
    CHECK(section(report::make_summary(trace.reader, {})) == text);
}

TEST_CASE("a simulated run says so in the first line of every report", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    const std::string first = "Simulated device: h200 ";
    report::ReportOptions json;
    json.form = report::OutputForm::kJson;
    for (const auto make : {report::make_table, report::make_summary, report::make_stats}) {
        CHECK(make(trace.reader, {}, {}).rfind(first, 0) == 0);
        CHECK(make(trace.reader, json, {}).find(R"("simulated": "h200")") != std::string::npos);
    }
}

TEST_CASE("reads change no figure, and a real run has no such section", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    CHECK(trace.replay().chosen.peak_bytes == 2048);
    CHECK(trace.replay().health.complete());
    const OpenTrace real("start\n alloc a 1 10 stack=f.py:1:f\n stop\n end\n");
    CHECK(report::make_table(real.reader, {}).find("Values read") == std::string::npos);
}

TEST_CASE("a value read that is cut ends the chunk there", "[report][damage]") {
    TraceBuilder builder;
    builder.mark(format::MarkKind::kTracingStarted);
    builder.extended(format::ExtendedType::kValueRead, fields({1, 2}));
    const OpenTrace trace(builder.finish());
    CHECK(mentions(trace.replay().health, "extended record is shorter than its fields"));
}

}  // namespace
}  // namespace peakline::test
