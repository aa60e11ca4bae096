// The section about values that a simulated device does not have.
#include "report_testing.h"
#include "tests/unit/catching.h"

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
    return text.substr(text.find("\nThe program read"));
}

TEST_CASE("values that do not exist are listed by line, the most harmful first", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    const std::string text = section(report_text(report::make_table, trace.reader, {}));
    CHECK(
        text ==
        "\nThe program read these values from the GPU; simulated, they were taken as 0. Give real "
        "ones with --assume FILE:LINE=VALUE (either line of a row), the tokens of experts with "
        "--assume routing=balanced:\n"
        "  /p/train.py:5 (step)  aten::nonzero  2 times  a size: tensors made of it have the "
        "wrong size\n"
        "  /p/train.py:6 (step)  aten::_unique2  1 time  a size: tensors made of it have the "
        "wrong size\n"
        "  /p/train.py:7 (step)  aten::item  1 time  a number: what the program decides by it "
        "may be wrong\n"
        "  /p/train.py:10 (main)  aten::copy_  1 time  copied to the host: sizes computed from "
        "it may be wrong\n"
        "  /p/train.py:8 (step)  aten::item  1 time  set by --assume\n"
        "  1 read of floating-point numbers (a loss, a norm) or for printing, at /p/train.py:9 "
        "(main), in torch/_tensor_str.py:1 (f): they seldom decide a size\n");
    CHECK(section(report_text(report::make_summary, trace.reader, {})) == text);
}

TEST_CASE("different lines of a library under one line of the program are separate rows",
          "[report]") {
    const OpenTrace trace(R"(
        meta simulated h200
        start
        alloc a 0x1000 2048 stack=/p/train.py:9:main
        read 4 stack=/s/site-packages/vision/boxes.py:31:keep;/p/train.py:5:step op=aten::nonzero flags=1
        read 4 stack=/s/site-packages/vision/nms.py:7:nms;/p/train.py:5:step op=aten::nonzero flags=1
        read 4 stack=/s/site-packages/torch/f.py:3:unique;/p/train.py:5:step op=aten::nonzero flags=1
        stop
        end
    )");
    const std::string text = section(report_text(report::make_table, trace.reader, {}));
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    CHECK(has("train.py:5 (step), in vision/boxes.py:31 (keep)  aten::nonzero  1"));
    CHECK(has("train.py:5 (step), in vision/nms.py:7 (nms)  aten::nonzero  1"));
    CHECK(has("train.py:5 (step), in torch/f.py:3 (unique)  aten::nonzero  1"));
}

TEST_CASE("floating-point numbers are one line, and only sizes make the peak too low", "[report]") {
    constexpr const char* kLosses = R"(
        meta simulated h200
        start
        alloc a 0x1000 2048 stack=/p/train.py:9:main
        read 4 stack=/p/train.py:5:step op=aten::item flags=4
        read 4 stack=/p/train.py:5:step op=aten::item flags=4
        read 4 stack=/p/train.py:6:step op=aten::item flags=4
    )";
    const OpenTrace losses(std::string(kLosses) + "stop\nend\n");
    const std::string text = report_text(report::make_table, losses.reader, {});
    CHECK(text.find("  3 reads of floating-point numbers (a loss, a norm) or for printing, at "
                    "/p/train.py:5 (step) and /p/train.py:6 (step): they seldom decide a size\n") !=
          std::string::npos);
    const OpenTrace more(std::string(kLosses) +
                         "read 4 stack=/p/train.py:7:step op=aten::item flags=4\nstop\nend\n");
    CHECK(report_text(report::make_table, more.reader, {})
              .find("at 3 lines: they seldom decide a size\n") != std::string::npos);
    CHECK(text.find("aten::item") == std::string::npos);
    CHECK(text.find("too low") == std::string::npos);
    const OpenTrace sizes(std::string(kLosses) +
                          "read 4 stack=/p/train.py:7:step op=aten::nonzero flags=1\n"
                          "read 4 stack=/p/train.py:8:step op=aten::nonzero flags=3\nstop\nend\n");
    for (const auto make : {report::make_table, report::make_summary}) {
        CHECK(report_text(make, sizes.reader)
                  .find("The peak may be too low: 1 size was read from the "
                        "simulated GPU as 0") != std::string::npos);
    }
}

TEST_CASE("a simulated run says so in the first line of every report", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    const std::string first = "Simulated device: h200 ";
    report::ReportOptions json;
    json.form = report::OutputForm::kJson;
    for (const auto make : {report::make_table, report::make_summary, report::make_stats}) {
        CHECK(report_text(make, trace.reader).rfind(first, 0) == 0);
        CHECK(make(trace.reader, json, {}).find(R"("simulated": "h200")") != std::string::npos);
    }
}

TEST_CASE("reads of values change no figure, and a real run has no section for them", "[report]") {
    const OpenTrace trace{std::string(kReads)};
    CHECK(trace.replay().chosen.peak_bytes == 2048);
    CHECK(trace.replay().health.complete());
    const OpenTrace real("start\n alloc a 1 10 stack=f.py:1:f\n stop\n end\n");
    CHECK(report_text(report::make_table, real.reader, {}).find("The program read") ==
          std::string::npos);
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
