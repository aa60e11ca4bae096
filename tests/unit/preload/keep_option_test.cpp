#include "preload/options/keep_option.h"

#include <string>

#include "tests/unit/catching.h"

using peakline::preload::parse_keep;
using peakline::record::Keep;

namespace {

uint64_t kept_bytes(const char* text) {
    Keep keep;
    REQUIRE(parse_keep(text, &keep));
    REQUIRE(keep.kind == Keep::Kind::kLast);
    return keep.bytes;
}

bool understands(const char* text) {
    Keep keep;
    return parse_keep(text, &keep);
}

}  // namespace

TEST_CASE("what is kept is said in words and sizes", "[preload]") {
    Keep keep;
    REQUIRE(parse_keep("peak", &keep));
    REQUIRE(keep.kind == Keep::Kind::kPeak);
    REQUIRE(parse_keep("all", &keep));
    REQUIRE(keep.kind == Keep::Kind::kAll);
    REQUIRE(kept_bytes("last:2GiB") == uint64_t{2} << 30);
    REQUIRE(kept_bytes("last:2g") == uint64_t{2} << 30);
    REQUIRE(kept_bytes("last:500MB") == 500'000'000);
    REQUIRE(kept_bytes("last:0.5 TiB") == uint64_t{1} << 39);
    REQUIRE(kept_bytes("last:16777216") == 16777216);
}

TEST_CASE("a size that is none, or keeps next to nothing, is not understood", "[preload]") {
    for (const char* text : {"",
                             "last",
                             "last:",
                             "last:x",
                             "last:2PiB",
                             "last:15MiB",
                             "last:-2GiB",
                             "last:2GiBs",
                             "last:nan",
                             "last:0x80000000",
                             "last:1.5.0GiB",
                             "last:.GiB",
                             "last: 2GiB",
                             "peaks",
                             "ALL",
                             "last:1e300"}) {
        INFO(text);
        REQUIRE_FALSE(understands(text));
    }
}
