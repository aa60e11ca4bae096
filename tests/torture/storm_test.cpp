// Threads that start, allocate with native stacks, and end, all the time; a timer's signals that
// interrupt them, with a handler that unwinds the stack it interrupted as profilers do; forks in
// the middle, of every kind. storm_test [SECONDS [FORKS A GENERATION]]; exit code 1 when the counts
// do not add up. Also run under the sanitizers.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/capture/native_stack.h"
#include "allocator/capture/stack_capture.h"
#include "allocator/capture/threads/thread_state.h"
#include "allocator/record/recorder.h"
#include "preload/life/life_cycle.h"
#include "report/replay/replay.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

using namespace peakline;
using record::AllocEvent;
using record::Recorder;

namespace {

constexpr unsigned kThreads = 6;
constexpr unsigned kBlocksAThread = 400;

std::atomic<uint64_t> g_signals{0};

// libunwind cleans up after a thread when ThreadSanitizer has forgotten it, which ends the program.
#ifdef __SANITIZE_THREAD__
constexpr bool kHandlerUnwinds = false;
#else
constexpr bool kHandlerUnwinds = true;
#endif

void on_signal(int) {
    const int error = errno;
    void* frames[64];
    if (!kHandlerUnwinds || unw_backtrace(frames, 64) > 0) {
        g_signals.fetch_add(1, std::memory_order_relaxed);
    }
    errno = error;
}

[[gnu::noinline]] void allocate(Recorder& recorder, uint64_t address, unsigned depth) {
    if (depth > 0) {
        allocate(recorder, address, depth - 1);
        asm volatile("");  // no tail call: the frame counts
        return;
    }
    capture::ThreadState* state = capture::thread_state(recorder.table());
    const uint32_t context = capture::capture_context(recorder.table(), *state);
    recorder.record_alloc(AllocEvent{address, 500, 512, context, 0, 0}, record::kUnknownTotal);
}

// One short life: half of its blocks are freed by itself, the others by the next of its row.
void live(Recorder& recorder, uint64_t row, uint64_t generation) {
    const uint64_t base = (row + 1) << 32;
    for (uint64_t i = 0; i < kBlocksAThread; ++i) {
        if (generation > 0 && i % 2 == 0) {
            recorder.record_free(base + ((generation - 1) * kBlocksAThread + i) * 512,
                                 0,
                                 Recorder::FreeKind::kCompleted,
                                 record::kUnknownTotal);
        }
        const uint64_t address = base + (generation * kBlocksAThread + i) * 512;
        allocate(recorder, address, static_cast<unsigned>(i % 9));
        if (i % 2 == 1) {
            recorder.record_free(address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
        }
    }
}

// As libraries do that know the kernel better than the C library: no handler of pthread_atfork
// runs.
pid_t fork_unheard() {
    return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

// The child's recorder is off; every call must come back.
[[noreturn]] void be_child(Recorder& recorder, bool is_heard_of) {
    recorder.record_alloc(AllocEvent{1 << 20, 1, 1, 1, 0, 0}, record::kUnknownTotal);
    recorder.record_free(1 << 20, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
    if (is_heard_of) {
        capture::ThreadState* state = capture::thread_state(recorder.table());
        if (state != nullptr) {
            capture::capture_context(recorder.table(), *state);
        }
    }
    _exit(recorder.has_trace() || recorder.is_tracing() ? 1 : 0);
}

pid_t start_child(Recorder& recorder, uint64_t number) {
    char name[] = "true";
    char* const words[] = {name, nullptr};
    pid_t child = -1;
    switch (number % 5) {
        case 0:
            child = fork();
            if (child == 0) {
                be_child(recorder, true);
            }
            break;
        case 1:
            child = fork_unheard();
            if (child == 0) {
                be_child(recorder, false);
            }
            break;
        case 2:
            child = fork();
            if (child == 0) {
                execv("/bin/true", words);
                _exit(1);
            }
            break;
        case 3:
            child = vfork();
            if (child == 0) {
                execv("/bin/true", words);
                _exit(1);
            }
            break;
        default:
            if (posix_spawn(&child, "/bin/true", nullptr, nullptr, words, environ) != 0) {
                child = -1;
            }
    }
    return child;
}

void fork_once(Recorder& recorder, uint64_t number) {
    const pid_t child = start_child(recorder, number);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || status != 0) {
        std::printf("storm_test: child %llu ended with %d\n",
                    static_cast<unsigned long long>(number),
                    status);
        std::exit(1);
    }
}

void start_signals() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    const itimerval every{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &every, nullptr);
}

// A storm that stands still is a deadlock: ends the test with a core instead of waiting for ever.
constexpr unsigned kSecondsWithoutProgress = 120;
void on_standstill(int) {
    constexpr char kText[] = "storm_test: a thread waits for ever: DEADLOCK\n";
    (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
    abort();
}

uint64_t run_storm(Recorder& recorder, double seconds, uint64_t forks_a_generation) {
    using Clock = std::chrono::steady_clock;  // the wall clock of a virtual machine may jump back
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    signal(SIGALRM, on_standstill);
    uint64_t generation = 0;
    for (; Clock::now() < end; ++generation) {
        alarm(kSecondsWithoutProgress);
        std::vector<std::thread> threads;
        for (uint64_t row = 0; row < kThreads; ++row) {
            threads.emplace_back(live, std::ref(recorder), row, generation);
        }
        for (uint64_t i = 0; i < forks_a_generation; ++i) {
            fork_once(recorder, generation * forks_a_generation + i);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    alarm(0);
    return generation;
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 5;
    const uint64_t forks = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const char* folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/peakline-storm-" +
                             std::to_string(getpid()) + ".peak";
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kReplace;
    if (!recorder.init(nullptr) || !capture::init_native_stacks() ||
        recorder.open_trace(options) != 0) {
        std::fprintf(stderr, "storm_test: cannot record to %s\n", path.c_str());
        return 1;
    }
    capture::set_capture_options({false, true});
    preload::watch_life_cycle();
    recorder.start_tracing();
    start_signals();
    const uint64_t generations = run_storm(recorder, seconds, forks);
    const itimerval never{};
    setitimer(ITIMER_PROF, &never, nullptr);
    const record::RecorderCounters counters = recorder.counters();
    const uint64_t level = recorder.level_bytes(0, format::Measure::kAllocated);
    const uint64_t peak = recorder.peak_bytes(0, format::Measure::kAllocated);
    recorder.close_trace();
    const auto reader = report::TraceReader::open_file(path);
    const auto result = report::replay(reader, {});
    unlink(path.c_str());
    const uint64_t allocs = generations * kThreads * kBlocksAThread;
    const bool is_good = counters.allocs == allocs && counters.unknown_frees == 0 &&
                         counters.records_dropped == 0 &&
                         level == uint64_t{kThreads} * kBlocksAThread / 2 * 512 &&
                         result.chosen.level_bytes == level && result.chosen.peak_bytes == peak &&
                         result.health.problems.empty() && g_signals.load() > 0;
    std::printf("storm_test: %llu threads, %llu forks, %llu allocations, %llu signals: %s\n",
                static_cast<unsigned long long>(generations * kThreads),
                static_cast<unsigned long long>(generations * forks),
                static_cast<unsigned long long>(counters.allocs),
                static_cast<unsigned long long>(g_signals.load()),
                is_good ? "all counts add up" : "COUNTS DO NOT ADD UP");
    return is_good ? 0 : 1;
}
