#include "preload/options/trace_name.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/catching.h"

using peakline::preload::expand_trace_name;
using peakline::preload::make_parent_folders;
using peakline::preload::numbered_name;
using peakline::preload::ProcessNames;

namespace {

ProcessNames names_with_rank(const char* rank) {
    ProcessNames names{};
    std::strcpy(names.script, "train");
    std::strcpy(names.host, "node7");
    std::strcpy(names.rank, rank);
    return names;
}

std::string expanded(const char* name_template, const char* rank) {
    char path[256];
    REQUIRE(expand_trace_name(name_template, names_with_rank(rank), path, sizeof path));
    return path;
}

}  // namespace

TEST_CASE("the default name tells script, host and rank or process", "[preload]") {
    const std::string process = std::to_string(getpid());
    REQUIRE(expanded("", "3") == "peakline-train.node7.3.peak");
    REQUIRE(expanded("", "") == "peakline-train.node7." + process + ".peak");
}

TEST_CASE("placeholders are replaced and other percent signs stay", "[preload]") {
    const std::string process = std::to_string(getpid());
    REQUIRE(expanded("%e/%h/%r-%p.peak", "0") == "train/node7/0-" + process + ".peak");
    REQUIRE(expanded("100%%.peak", "0") == "100%.peak");
    REQUIRE(expanded("50%x.peak", "0") == "50%x.peak");
    REQUIRE(expanded("end%", "0") == "end%");
}

TEST_CASE("a name that does not fit is refused", "[preload]") {
    char path[8];
    REQUIRE_FALSE(expand_trace_name("%e-%h.peak", names_with_rank(""), path, sizeof path));
}

TEST_CASE("a number goes before the extension", "[preload]") {
    char path[64];
    REQUIRE(numbered_name("runs.d/run.peak", 2, path, sizeof path));
    REQUIRE(std::string(path) == "runs.d/run.2.peak");
    REQUIRE(numbered_name("runs.d/run", 3, path, sizeof path));
    REQUIRE(std::string(path) == "runs.d/run.3");
    char small[8];
    REQUIRE_FALSE(numbered_name("runs.d/run.peak", 2, small, sizeof small));
}

TEST_CASE("folders above a trace are made", "[preload]") {
    char folder[] = "/tmp/peakline-unit-XXXXXX";
    REQUIRE(mkdtemp(folder) != nullptr);
    const std::string path = std::string(folder) + "/a/b/run.peak";
    REQUIRE(make_parent_folders(path.c_str()) == 0);
    struct stat info {};
    REQUIRE(stat((std::string(folder) + "/a/b").c_str(), &info) == 0);
    REQUIRE(make_parent_folders("/proc/none/run.peak") != 0);
    rmdir((std::string(folder) + "/a/b").c_str());
    rmdir((std::string(folder) + "/a").c_str());
    rmdir(folder);
}
