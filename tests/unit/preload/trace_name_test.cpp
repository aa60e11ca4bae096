#include "preload/options/trace_name.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "preload/options/command_line.h"
#include "tests/unit/catching.h"

using peakline::preload::CommandLine;
using peakline::preload::expand_trace_name;
using peakline::preload::is_device_file;
using peakline::preload::make_parent_folders;
using peakline::preload::make_template_absolute;
using peakline::preload::numbered_name;
using peakline::preload::parse_file_mode;
using peakline::preload::ProcessNames;
using peakline::preload::read_process_names;
using peakline::preload::write_program_name;

namespace {

ProcessNames names_with_rank(const char* rank) {
    ProcessNames names{};
    std::strcpy(names.script, "train");
    std::strcpy(names.host, "node7");
    std::strcpy(names.rank_info.rank, rank);
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

TEST_CASE("ranks of a run have a folder", "[preload]") {
    ProcessNames names = names_with_rank("3");
    const auto name = [&names] {
        char path[256];
        REQUIRE(expand_trace_name("", names, path, sizeof path));
        return std::string(path);
    };
    std::strcpy(names.run, "4fd0c1ab");
    REQUIRE(name() == "peakline-train.4fd0c1ab/rank3.node7.peak");
    std::strcpy(names.rank_info.attempt, "0");
    REQUIRE(name() == "peakline-train.4fd0c1ab/rank3.node7.peak");
    std::strcpy(names.rank_info.attempt, "2");
    REQUIRE(name() == "peakline-train.4fd0c1ab/rank3.node7.attempt2.peak");
    std::strcpy(names.rank_info.world_size, "1");
    REQUIRE(name() == "peakline-train.node7.3.peak");
}

namespace {

class Environment {
public:
    Environment(std::initializer_list<std::pair<const char*, const char*>> set) {
        for (const auto& [name, value] : set) {
            setenv(name, value, 1);
            names_.push_back(name);
        }
    }
    ~Environment() {
        for (const char* const name : names_) {
            unsetenv(name);
        }
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    std::vector<const char*> names_;
};

ProcessNames names_here() {
    ProcessNames names{};
    read_process_names(&names, "00112233445566778899aabbccddeeff");
    return names;
}

}  // namespace

TEST_CASE("launchers say which process of which job this is", "[preload]") {
    REQUIRE(std::string(names_here().run) == "00112233");
    {
        const Environment slurm{{"SLURM_PROCID", "5"},
                                {"SLURM_LOCALID", "1"},
                                {"SLURM_NTASKS", "8"},
                                {"SLURM_JOB_ID", "991"},
                                {"SLURM_STEP_ID", "2"}};
        const ProcessNames names = names_here();
        REQUIRE(std::string(names.rank_info.rank) == "5");
        REQUIRE(std::string(names.rank_info.local_rank) == "1");
        REQUIRE(std::string(names.rank_info.world_size) == "8");
        REQUIRE(std::string(names.rank_info.job) == "slurm 991.2");
        REQUIRE(std::string(names.run) == "slurm-991.2");
        // torchrun in a step of SLURM's: its processes are the ranks.
        const Environment elastic{{"RANK", "17"},
                                  {"LOCAL_RANK", "3"},
                                  {"WORLD_SIZE", "32"},
                                  {"TORCHELASTIC_RUN_ID", "a/b c"},
                                  {"TORCHELASTIC_RESTART_COUNT", "1"}};
        const ProcessNames inner = names_here();
        REQUIRE(std::string(inner.rank_info.rank) == "17");
        REQUIRE(std::string(inner.rank_info.attempt) == "1");
        REQUIRE(std::string(inner.rank_info.job) == "torchrun a/b c");
        REQUIRE(std::string(inner.run) == "torchrun-a-b-c");
        const Environment one_machine{{"LOCAL_WORLD_SIZE", "32"}};
        REQUIRE(std::string(names_here().run) == "00112233");
    }
    const Environment nameless{{"RANK", "1"}, {"TORCHELASTIC_RUN_ID", "none"}};
    REQUIRE(std::string(names_here().rank_info.job).empty());
    REQUIRE(std::string(names_here().run) == "00112233");
}

TEST_CASE("placeholders are replaced and other percent signs stay", "[preload]") {
    const std::string process = std::to_string(getpid());
    REQUIRE(expanded("%e/%h/%r-%p.peak", "0") == "train/node7/0-" + process + ".peak");
    REQUIRE(expanded("%i-%l-%a.peak", "0") == process + "-0-0.peak");
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

TEST_CASE("the mode of a trace is octal, and its owner's in any case", "[preload]") {
    mode_t mode = 0;
    for (const auto& [text, wanted] : std::initializer_list<std::pair<const char*, mode_t>>{
             {"0644", 0644}, {"640", 0640}, {"0044", 0644}, {"600", 0600}}) {
        REQUIRE(parse_file_mode(text, &mode));
        REQUIRE(mode == wanted);
    }
    for (const char* text : {"", "64", "0755", "4644", "u=rw", "0648", "00644"}) {
        REQUIRE_FALSE(parse_file_mode(text, &mode));
    }
    REQUIRE(mode == 0600);
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

TEST_CASE("a folder gets the default name", "[preload]") {
    REQUIRE(expanded("no/such/folder/", "3") == "no/such/folder/peakline-train.node7.3.peak");
    REQUIRE(expanded("/tmp", "3") == "/tmp/peakline-train.node7.3.peak");
    REQUIRE(expanded("/dev/null", "3") == "/dev/null");
    REQUIRE(is_device_file("/dev/null"));
    REQUIRE_FALSE(is_device_file("/tmp"));
    REQUIRE_FALSE(is_device_file("/no/such"));
}

TEST_CASE("values of the environment stay within their part of the path", "[preload]") {
    REQUIRE(expanded("", "../../x") == "peakline-train.node7.-.-..-x.peak");
    REQUIRE(expanded("a/%r/b", "..") == "a/-./b");
    REQUIRE(expanded("%r.peak", "1\n\x1b[2") == "1--[2.peak");
}

TEST_CASE("relative templates are made absolute", "[preload]") {
    const auto absolute = [](const char* folder, const char* name_template) {
        char text[64];
        std::strcpy(text, name_template);
        make_template_absolute(folder, text, sizeof text);
        return std::string(text);
    };
    REQUIRE(absolute("/home/me", "") == "/home/me/");
    REQUIRE(absolute("/home/me", "runs/%e.peak") == "/home/me/runs/%e.peak");
    REQUIRE(absolute("/home/me", "/other/x.peak") == "/other/x.peak");
    REQUIRE(absolute("/home/50%e", "x.peak") == "/home/50%%e/x.peak");
    REQUIRE(absolute("/", "x.peak") == "/x.peak");
    REQUIRE(absolute("", "x.peak") == "x.peak");
    const std::string wide(60, 'a');
    REQUIRE(absolute("/home/me", wide.c_str()) == wide);
}

TEST_CASE("the program is the script of python, and any other program itself", "[preload]") {
    const auto name_of = [](const char* executable, const std::vector<const char*>& words) {
        CommandLine line{};
        char name[64];
        for (const char* word : words) {
            line.words[line.count++] = word;
        }
        write_program_name(line, executable, name, sizeof name);
        return std::string(name);
    };
    const char* const python = "/usr/bin/python3.12";
    REQUIRE(name_of(python, {"python", "-X", "dev", "a/train.py", "--lr"}) == "train");
    REQUIRE(name_of(python, {"python", "-m", "pkg.train", "x"}) == "pkg.train");
    REQUIRE(name_of(python, {"python", "-c", "code"}) == "python");
    REQUIRE(name_of("/home/me/a.out", {"./a.out", "--config", "big.cfg"}) == "a.out");
    REQUIRE(name_of("/home/me/a.out", {"./a.out", "big.cfg"}) == "a.out");
    // No python spawned it.
    REQUIRE(name_of(python, {"python", "-c", "from multiprocessing.spawn import x"}) == "python");
    REQUIRE(std::string(names_here().script) == "unit_tests");
}
