// The stored trace in tests/data agrees with its text.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

std::string data_path(const std::string& name) {
    const std::string here = __FILE__;
    return here.substr(0, here.rfind("unit/report/")) + "data/" + name;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("the stored trace holds the bytes of its text", "[report][stored]") {
    const Bytes bytes = TextTrace(read_file(data_path("two_steps.txt"))).bytes();
    const std::string written(bytes.begin(), bytes.end());
    if (std::getenv("PEAKLINE_WRITE_TEST_DATA") != nullptr) {
        std::ofstream(data_path("two_steps.trace"), std::ios::binary) << written;
    }
    CHECK((read_file(data_path("two_steps.trace")) == written));
}

}  // namespace
}  // namespace peakline::test
