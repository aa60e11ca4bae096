// Records in a child process that is killed at a random moment, then compares the trace, event by
// event, with a log that the child wrote into shared memory right after each call returned: no
// committed event may be lost, none may be wrong. kill_test [RUNS [SEED]]; exit code 1 and
// the seed of the run when something is.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kept_events.h"
#include "kill_plan.h"
#include "killed_program.h"

using namespace peakline;
using namespace peakline::torture;

namespace {

void sleep_ns(int64_t nanoseconds) {
    const timespec pause{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    nanosleep(&pause, nullptr);
}

bool has_open_checkpoint(const unsigned char* file, size_t size) {
    for (size_t at = format::kSuperblockBytes; at + format::kChunkBytes <= size;
         at += format::kChunkBytes) {
        const auto* header = reinterpret_cast<const volatile format::ChunkHeader*>(file + at);
        if (header->magic == format::kChunkMagic &&
            header->type == static_cast<uint16_t>(format::ChunkType::kSummary) &&
            (header->flags & format::kChunkSealed) == 0 && header->committed != 0) {
            return true;
        }
    }
    return false;
}

void spin_ns(int64_t nanoseconds) {
    timespec begin{};
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec <
             nanoseconds);
}

// Returns when a checkpoint is being written, or the child has no more events.
void wait_for_checkpoint(const std::string& path, const Log& log) {
    const int descriptor = open(path.c_str(), O_RDONLY);
    struct stat facts = {};
    while (fstat(descriptor, &facts) == 0 && log.count.load() + 1 < kMaxEvents) {
        const auto size = static_cast<size_t>(facts.st_size);
        void* file = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
        bool is_seen = false;
        for (int i = 0; i < 2000 && !is_seen && file != MAP_FAILED; ++i) {
            is_seen = has_open_checkpoint(static_cast<const unsigned char*>(file), size);
        }
        munmap(file, size);
        if (is_seen) {
            break;
        }
    }
    close(descriptor);
}

void step_through(pid_t child, uint64_t instructions) {
    int status = 0;
    waitpid(child, &status, 0);
    for (uint64_t i = 0; i < instructions && WIFSTOPPED(status); ++i) {
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        waitpid(child, &status, 0);
    }
}

void strike(pid_t child, const std::string& path, const Plan& plan, const Log& log) {
    switch (plan.aim) {
        case Aim::kTime:
            sleep_ns(plan.kill_after_ns);
            break;
        case Aim::kInstruction:
            step_through(child, plan.instructions);
            break;
        case Aim::kCheckpoint:
            wait_for_checkpoint(path, log);
            spin_ns(plan.kill_after_ns);
            break;
    }
    kill(child, SIGKILL);
}

// Empty when everything was right.
std::string run(const std::string& path, const Plan& plan) {
    Log* log = map_log();
    if (log == nullptr) {
        return "no memory for the log";
    }
    const pid_t child = fork();
    if (child == 0) {
        record_for_ever(path.c_str(), plan, log);
    }
    while (!log->ready.load(std::memory_order_acquire) && waitpid(child, nullptr, WNOHANG) == 0) {
        sched_yield();
    }
    if (plan.is_kill()) {
        strike(child, path, plan, *log);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::string fault = fault_of(path, *log, plan);
    munmap(log, sizeof(Log));
    unlink(path.c_str());
    return fault;
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const char* folder = getenv("TMPDIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/peakline-kill-" +
                             std::to_string(getpid()) + ".peak";
    std::map<std::string, uint64_t> ends;
    for (uint64_t i = 0; i < runs; ++i) {
        const Plan plan = plan_of(seed + i);
        ++ends[kEndNames[static_cast<size_t>(plan.end)]];
        const std::string fault = run(path, plan);
        if (!fault.empty()) {
            std::printf("kill_test: seed %llu (%s): %s\n",
                        static_cast<unsigned long long>(seed + i),
                        kEndNames[static_cast<size_t>(plan.end)],
                        fault.c_str());
            return 1;
        }
    }
    std::printf("kill_test: %llu kills, 0 committed events lost, 0 wrong (",
                static_cast<unsigned long long>(runs));
    const char* comma = "";
    for (const auto& [name, count] : ends) {
        std::printf("%s%llu %s", comma, static_cast<unsigned long long>(count), name.c_str());
        comma = ", ";
    }
    std::printf(")\n");
    return 0;
}
