#include <atomic>
#include <cstdlib>
#include <string>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/simulate/guard/file_states.h"
#include "tests/unit/catching.h"

namespace {

constexpr int kProcesses = 4;
constexpr int kFacts = 500;

struct Shared {
    std::atomic<int> arrived[kFacts];
    std::atomic<int> firsts[kFacts];
};

void note_with_the_others(Shared& shared) {
    for (int i = 0; i < kFacts; ++i) {
        const std::string fact = "fact " + std::to_string(i);
        ++shared.arrived[i];
        while (shared.arrived[i] < kProcesses) {
            sched_yield();
        }
        shared.firsts[i] += peakline::guard::note_fact(fact.c_str()) ? 1 : 0;
    }
}

}  // namespace

TEST_CASE("of processes that note a fact at once one is the first", "[preload]") {
    char notes[] = "/tmp/peakline-notes-XXXXXX";
    close(mkstemp(notes));
    setenv("PEAKLINE_SIM_WRITES", notes, 1);
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    auto* const shared = new (memory) Shared{};
    for (int i = 0; i < kProcesses; ++i) {
        if (fork() == 0) {
            note_with_the_others(*shared);
            _exit(0);
        }
    }
    for (int i = 0; i < kProcesses; ++i) {
        wait(nullptr);
    }
    unsetenv("PEAKLINE_SIM_WRITES");
    unlink(notes);
    int wrong = 0;
    for (int i = 0; i < kFacts; ++i) {
        wrong += shared->firsts[i] == 1 ? 0 : 1;
    }
    CHECK(wrong == 0);
    munmap(memory, sizeof(Shared));
}

TEST_CASE("a record that another process is writing is read when it is whole", "[preload]") {
    char notes[] = "/tmp/peakline-notes-XXXXXX";
    const int file = mkstemp(notes);
    setenv("PEAKLINE_SIM_WRITES", notes, 1);
    const pid_t child = fork();
    if (child == 0) {  // the part that was read is kept per process
        const std::string first("Fone\0Ftw", 8);
        const std::string rest("o\0", 2);
        int wrong = write(file, first.data(), first.size()) != 8;
        wrong += peakline::guard::has_fact("one") ? 0 : 1;
        wrong += peakline::guard::has_fact("tw") || peakline::guard::has_fact("two") ? 1 : 0;
        wrong += write(file, rest.data(), rest.size()) != 2;
        wrong += peakline::guard::has_fact("two") ? 0 : 1;
        _exit(wrong);
    }
    int status = -1;
    waitpid(child, &status, 0);
    unsetenv("PEAKLINE_SIM_WRITES");
    close(file);
    unlink(notes);
    CHECK(status == 0);
}
