// Records in a child process that is killed at a random moment, then compares what the trace holds,
// event by event, with a log the child wrote into shared memory right after each call returned:
// nothing committed may be lost, nothing may be wrong. kill_test [RUNS [SEED]]; exit code 1 and
// the seed of the run when something is.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocator/record/recorder.h"
#include "report/replay/replay.h"
#include "report/views/selection.h"

using namespace peakline;
using record::AllocEvent;
using record::Keep;
using record::Recorder;

namespace {

constexpr uint64_t kEventsPerRound = 2500;
constexpr size_t kMaxEvents = size_t{1} << 21;
constexpr uint32_t kSlots = 700;

// When SIGKILL strikes: at a random time, after a random number of single instructions from some
// event on, or as soon as a checkpoint is seen being written.
enum class Aim { kTime, kInstruction, kCheckpoint };

enum class End { kKill, kSegfault, kAbort, kExit, kExec, kForkThenKill, kCount };
constexpr const char* kEndNames[] = {
    "SIGKILL", "SIGSEGV", "abort", "_exit", "exec", "fork+SIGKILL"};

// One event as the child saw it return. bytes 0: a free.
struct Logged {
    uint32_t slot;
    uint32_t bytes;
};

// Shared by parent and child. The child writes one entry, then its count, after each call.
struct Log {
    std::atomic<uint64_t> count;
    std::atomic<bool> ready;
    Logged events[kMaxEvents];
};

Log* map_log() {
    void* memory = mmap(nullptr,
                        sizeof(Log),
                        PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1,
                        0);
    return memory == MAP_FAILED ? nullptr : static_cast<Log*>(memory);
}

struct Plan {
    uint64_t seed;
    End end;
    Aim aim;
    Keep keep;
    uint64_t end_after_events;  // of ends the child makes itself
    int64_t kill_after_ns;      // of ends the parent makes
    uint64_t instructions;      // Aim::kInstruction: to go on for after end_after_events
    bool is_kill() const { return end == End::kKill || end == End::kForkThenKill; }
};

Plan plan_of(uint64_t seed) {
    std::mt19937_64 random(seed);
    Plan plan{};
    plan.seed = seed;
    plan.end = static_cast<End>(random() % static_cast<uint64_t>(End::kCount));
    // Most runs die by SIGKILL: only it can strike between two instructions.
    if (random() % 4 != 0) {
        plan.end = End::kKill;
    }
    const Keep keeps[] = {
        {Keep::Kind::kAll, 0}, {Keep::Kind::kPeak, 0}, {Keep::Kind::kLast, uint64_t{2} << 20}};
    plan.keep = keeps[random() % 3];
    // Bounded files need some chunks' worth of events before chunks are used again.
    const uint64_t most = plan.keep.kind == Keep::Kind::kAll ? 150'000 : 900'000;
    plan.end_after_events = random() % most;
    plan.kill_after_ns = static_cast<int64_t>(random() % (most * 120));
    plan.instructions = random() % 4000;
    if (plan.end == End::kKill) {
        plan.aim = static_cast<Aim>(random() % 3);
    }
    if (plan.aim == Aim::kCheckpoint && plan.keep.kind == Keep::Kind::kAll) {
        plan.aim = Aim::kInstruction;
    }
    if (plan.aim == Aim::kCheckpoint) {
        plan.kill_after_ns = static_cast<int64_t>(random() % 80'000);
    }
    return plan;
}

[[noreturn]] void end_child(End end) {
    switch (end) {
        case End::kSegfault:
            raise(SIGSEGV);
            break;
        case End::kAbort:
            abort();
        case End::kExec:
            execl("/bin/true", "true", nullptr);
            break;
        default:
            break;
    }
    _exit(0);
}

// Runs in the child until something ends it.
[[noreturn]] void record_for_ever(const char* path, const Plan& plan, Log* log) {
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path;
    options.exists = record::FileTarget::Exists::kReplace;
    options.keep = plan.keep;
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        _exit(99);
    }
    recorder.start_tracing();
    if (plan.aim == Aim::kInstruction) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    }
    std::mt19937_64 random(plan.seed);
    uint64_t level = 0;
    std::vector<uint32_t> contexts;
    std::vector<uint32_t> live(kSlots);
    log->ready.store(true, std::memory_order_release);
    for (uint64_t n = 0; n < kMaxEvents; ++n) {
        if (n % 1000 == 0 && contexts.size() < 3000) {
            const std::string name = "operator" + std::to_string(contexts.size());
            record::StackTable& table = recorder.table();
            const uint32_t operator_name = table.intern_string(name.data(), name.size());
            contexts.push_back(table.intern_context(record::Context{0, 0, 0, 0, operator_name, 0}));
        }
        // Every other program is a loop: each slot is as it was after every second round.
        if (plan.seed % 2 == 0 && n % kEventsPerRound == 0) {
            random.seed(plan.seed);
        }
        const auto slot = static_cast<uint32_t>(random() % kSlots);
        const auto drawn_bytes = static_cast<uint32_t>(random() % 100 + 1) * 512;
        const uint64_t address = (slot + 1) * uint64_t{65536};
        uint32_t bytes = 0;
        if (live[slot] != 0) {
            level -= live[slot];
            recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, level);
        } else {
            bytes = drawn_bytes;
            level += bytes;
            const uint32_t context = contexts[n % kEventsPerRound % contexts.size()];
            recorder.record_alloc(AllocEvent{address, bytes - 7, bytes, context, 0, 0}, level);
        }
        live[slot] = bytes;
        log->events[n] = Logged{slot, bytes};
        // release: the entry is whole before it counts.
        log->count.store(n + 1, std::memory_order_release);
        if (plan.end == End::kForkThenKill && n % 5000 == 4999 && fork() == 0) {
            _exit(0);  // its mappings of the file must not be the parent's
        }
        if (n == plan.end_after_events && plan.aim == Aim::kInstruction) {
            raise(SIGSTOP);
        } else if (n == plan.end_after_events && !plan.is_kill()) {
            end_child(plan.end);
        }
    }
    pause();
    _exit(0);
}

// The events of a trace as the child logs them.
class Collector {
public:
    explicit Collector(const report::TraceReader& reader) : reader_(reader) {
        if (reader.checkpoint() != nullptr) {
            live_.resize(reader.checkpoint()->blocks.size());
        }
    }
    void on_alloc_class(uint64_t ordinal, uint64_t, uint32_t class_id, uint64_t address) {
        const auto& shape = reader_.definitions().classes[class_id];
        add(ordinal, shape.block_bytes, address);
    }
    void on_alloc_inline(uint64_t ordinal,
                         uint64_t,
                         const report::AllocationShape& shape,
                         uint64_t address) {
        add(ordinal, shape.block_bytes, address);
    }
    void on_free(uint64_t ordinal, uint64_t, report::FreeKind, uint32_t) {
        events_.push_back(Logged{ordinal < live_.size() ? live_[ordinal] : 0, 0});
        // A block of before the checkpoint has no address there: any free fits it.
        is_known_.push_back(ordinal >= live_.size() || reader_.checkpoint() == nullptr ||
                            ordinal >= reader_.checkpoint()->blocks.size());
    }
    void on_unmatched_free(uint64_t) { ++unmatched; }
    void on_rare(uint64_t, const report::RareEvent&) { ++marks; }

    const std::vector<Logged>& events() const { return events_; }
    bool is_known(size_t i) const { return is_known_[i]; }
    uint64_t unmatched = 0;
    uint64_t marks = 0;

private:
    void add(uint64_t ordinal, uint64_t bytes, uint64_t address) {
        const auto slot = static_cast<uint32_t>(address / 65536 - 1);
        live_.resize(ordinal + 1);
        live_[ordinal] = slot;
        events_.push_back(Logged{slot, static_cast<uint32_t>(bytes)});
        is_known_.push_back(true);
    }

    const report::TraceReader& reader_;
    std::vector<uint32_t> live_;  // slot by ordinal
    std::vector<Logged> events_;
    std::vector<bool> is_known_;
};

struct Levels {
    uint64_t peak = 0;
    uint64_t level = 0;
};

Levels levels_of(const Log& log, uint64_t count) {
    std::vector<uint32_t> live(kSlots);
    Levels levels;
    for (uint64_t i = 0; i < count; ++i) {
        const Logged& event = log.events[i];
        levels.level += event.bytes;
        levels.level -= event.bytes == 0 ? live[event.slot] : 0;
        live[event.slot] = event.bytes;
        levels.peak = std::max(levels.peak, levels.level);
    }
    return levels;
}

// "" when the trace holds what was logged, and at most the one event whose call had not returned.
std::string fault_of(const std::string& path, const Log& log, Plan plan) {
    const auto reader = report::TraceReader::open_file(path);
    Collector found(reader);
    const report::EventTotals totals = reader.read_events(found);
    const auto& events = found.events();
    const uint64_t logged = log.count.load();
    // Of the recorder's own stream: marks count, too; the one of start_tracing stands first.
    const bool is_whole = reader.checkpoint() == nullptr;
    const uint64_t skipped = is_whole || reader.checkpoint()->first_event == 0
                                 ? 0
                                 : reader.checkpoint()->first_event - 1;
    if (!reader.problems().empty() || !totals.problems.empty() || found.unmatched != 0) {
        return "problems: " +
               (reader.problems().empty() ? totals.problems : reader.problems()).texts().front();
    }
    const uint64_t end = skipped + events.size();
    if (end < logged || end > logged + 1) {
        return "holds events up to " + std::to_string(end) + ", logged are " +
               std::to_string(logged);
    }
    for (uint64_t i = 0; i < events.size() && skipped + i < logged; ++i) {
        const Logged& expected = log.events[skipped + i];
        if (events[i].bytes != expected.bytes ||
            (found.is_known(i) && events[i].slot != expected.slot)) {
            return "event " + std::to_string(skipped + i) + " differs";
        }
    }
    if (plan.keep.kind == Keep::Kind::kLast && logged > 500'000 && events.size() < 100'000) {
        return "keeps " + std::to_string(events.size()) + " events only";
    }
    const auto result = report::replay(reader, {});
    const Levels now = levels_of(log, logged);
    // The event on the way may be a new peak of one more block.
    const bool is_right =
        end == logged
            ? result.chosen.peak_bytes == now.peak && result.chosen.level_bytes == now.level
            : result.chosen.peak_bytes >= now.peak && result.chosen.peak_bytes <= now.peak + 51200;
    return is_right ? "" : "the peak or the level is wrong";
}

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
