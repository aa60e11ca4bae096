// The median of all reports, by hand.
#include "report/views/blocks/median.h"

#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using report::CountedValue;

uint64_t median(std::vector<CountedValue> values) {
    return report::median_of(values);
}

TEST_CASE("the median of an even count is the mean of the two in the middle", "[table]") {
    CHECK(median({}) == 0);
    CHECK(median({{7, 1}}) == 7);
    CHECK(median({{9, 1}, {2, 1}, {4, 1}}) == 4);
    CHECK(median({{9, 1}, {2, 1}}) == 5);  // rounded down
    CHECK(median({{9, 2}, {2, 1}, {4, 1}}) == 6);
    CHECK(median({{UINT64_MAX, 1}, {UINT64_MAX - 2, 1}}) == UINT64_MAX - 1);
}

TEST_CASE("values count with their multiplicity", "[table]") {
    CHECK(median({{1, 3}, {100, 2}}) == 1);
    CHECK(median({{1, 3}, {100, 3}}) == 50);
    CHECK(median({{1, 3}, {100, 4}}) == 100);
    CHECK(median({{1, 0}}) == 0);
}

}  // namespace
}  // namespace peakline::test
