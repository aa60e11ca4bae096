// Numbers, paths and JSON as text.
#include <limits>
#include <random>

#include "plain_text.h"
#include "report/render/document/document.h"
#include "report/render/format/format_bytes.h"
#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::report {
namespace {

std::string text(uint64_t bytes) {
    return format_bytes(bytes);
}

TEST_CASE("sizes below one kilobyte are whole bytes", "[report]") {
    CHECK(text(0) == "0 B");
    CHECK(text(512) == "512 B");
    CHECK(text(1023) == "1023 B");
}

TEST_CASE("sizes have four significant digits and units of 1024", "[report]") {
    CHECK(text(1024) == "1.000 KB");
    CHECK(text(5 * 1024) == "5.000 KB");
    CHECK(text(10 * 1024 + 41) == "10.04 KB");
    CHECK(text(uint64_t{7212} * 1024 * 1024 / 100) == "72.12 MB");
    CHECK(text(uint64_t{5441} * 1024 * 1024 / 10) == "544.1 MB");
    CHECK(text(1000 * 1024) == "1000 KB");
    CHECK(text(1023 * 1024) == "1023 KB");
    CHECK(text(uint64_t{3} << 40) == "3.000 TB");
    CHECK(text(uint64_t{5000} << 40) == "5000 TB");
}

TEST_CASE("a size that rounds up never gets a fifth digit", "[report]") {
    CHECK(text(1048575) == "1.000 MB");
    CHECK(text((uint64_t{1} << 30) - 1) == "1.000 GB");
    CHECK(text(10737418132) == "10.00 GB");  // 9.99999992 GB
    CHECK(text(uint64_t{99999} * 1048576 / 1000) == "100.0 MB");
    CHECK(text(uint64_t{999960} * 1048576 / 1000) == "1000 MB");
    CHECK(text(uint64_t{1023600} * 1024 / 1000) == "1.000 MB");
    CHECK(text(uint64_t{1023400} * 1024 / 1000) == "1023 KB");
}

TEST_CASE("negative sizes keep their sign", "[report]") {
    CHECK(format_bytes(int64_t{-2048}) == "-2.000 KB");
}

TEST_CASE("the time of an event in JSON names its tick", "[report]") {
    const test::OpenTrace trace("start\n alloc a 1 1\n stop\n end\n");
    std::mt19937_64 random(1);
    for (int i = 0; i < 10'000; ++i) {
        const uint64_t tick = random() >> (20 + random() % 40);  // up to two weeks
        JsonWriter json;
        json.value(trace.reader.seconds(tick));
        CHECK(trace.reader.tick_of(std::stod(json.take())) == tick);
    }
    CHECK(trace.reader.tick_of(-1) == 0);
    CHECK(trace.reader.tick_of(std::numeric_limits<double>::infinity()) == UINT64_MAX);
}

TEST_CASE("counts have commas", "[report]") {
    CHECK(format_count(7) == "7");
    CHECK(format_count(818) == "818");
    CHECK(format_count(1204) == "1,204");
    CHECK(format_count(1234567) == "1,234,567");
}

TEST_CASE("paths are shortened to the part that the user needs", "[report]") {
    const PathDisplay display = {false, "/home/me/work"};
    CHECK(display_path(display, "/v/lib/python3.11/site-packages/torch/nn/functional.py") ==
          "torch/nn/functional.py");
    CHECK(display_path(display, "/home/me/work/src/train.py") == "src/train.py");
    CHECK(display_path(display, "/home/me/worker/train.py") == "/home/me/worker/train.py");
    CHECK(display_path(display, "<string>") == "<string>");
    const PathDisplay full = {true, "/home/me/work"};
    CHECK(display_path(full, "/home/me/work/src/train.py") == "/home/me/work/src/train.py");
}

TEST_CASE("JSON is valid whatever the text", "[report]") {
    JsonWriter json;
    json.begin_object().field("a\"b\\", "x\ny\x01").field("n", uint64_t{1} << 63);
    json.key("list").begin_array().value(1).value(true).null().end_array();
    json.field("bad", std::string_view("\xC3(\xED\xA0\x80\xF0\x9F\x98\x80"));
    CHECK(json.end_object().take() ==
          "{\"a\\\"b\\\\\": \"x\\u000ay\\u0001\", \"n\": 9223372036854775808, "
          "\"list\": [1, true, null], "
          "\"bad\": \"\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80\"}");
}

TEST_CASE("JSON escapes characters that a terminal would obey", "[report]") {
    JsonWriter json;
    // ESC, DEL, U+009B, U+202E, U+2066, U+E0041; and ordinary text.
    json.begin_array().value("\x1b[m\x7f\xC2\x9B\xE2\x80\xAE\xE2\x81\xA6\xF3\xA0\x81\x81\xC3\xA9");
    CHECK(json.end_array().take() ==
          "[\"\\u001b[m\\u007f\\u009b\\u202e\\u2066\\udb40\\udc41\xC3\xA9\"]");
}

TEST_CASE("a cell of a table is one line", "[report]") {
    Document document(OutputForm::kDocument);
    {
        DocumentTable table(document, nullptr, {{nullptr, "Name"}, {nullptr, "Mem"}});
        table.add({cell("a\x1b[m\nb"), bytes_cell(uint64_t{1})});
    }
    CHECK(test::plain_text(document.take()) == "a?[m?b  1 B\n");
}

TEST_CASE("a part of a document is a field for programs and words for people", "[report]") {
    const auto make = [](OutputForm form) {
        Document document(form);
        document.say("Only for people", Tone::kHeading);
        document.show_fact("peak_bytes", "Max mem", bytes_cell(uint64_t{2048}));
        {
            DocumentTable table(
                document,
                "rows",
                {{"bytes", "Mem"}, {nullptr, "Share"}, hidden("count"), {"step", "Step"}});
            JsonWriter& json =
                table.begin({bytes_cell(uint64_t{1024}), share_cell(0.5), cell(7), no_cell()});
            json.field("more", true);
            table.end();
            table.add_words({"", "only for people", ""});
            table.leave_out(3, "more rows");
        }
        return document;
    };
    CHECK(
        make(OutputForm::kJson).take() ==
        R"({"peak_bytes": 2048, "rows": [{"bytes": 1024, "count": 7, "step": null, "more": true}]})");
    CHECK(test::plain_text(make(OutputForm::kDocument).take()) ==
          "Only for people\nMax mem: 2.000 KB\n1.000 KB  50.0 %  -\n  only for people  \n...\n");
}

}  // namespace
}  // namespace peakline::report
