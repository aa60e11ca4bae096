// Records in a child process while others attack its trace file and its descriptors. The file is
// truncated, removed, renamed or replaced at a random moment; meanwhile other threads of the child
// close, open and duplicate descriptors at random numbers, as a program may that does not know
// ours. The child must end as alone: exit status 0, the right peak, every byte of its own files as
// written. The trace must be readable, or refused with an error. file_test [RUNS [SEED]]; exit
// code 1 and the seed of the run when something is wrong.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "allocator/record/recorder.h"
#include "report/replay/replay.h"

using namespace peakline;
using record::AllocEvent;
using record::Recorder;

namespace {

constexpr uint64_t kEvents = 150'000;
constexpr int kFirstNumber = 3;
constexpr int kLastNumber = 24;
constexpr char kWritten[] = "a line of the program's own file\n";

enum Status { kFine = 0, kNotRecorded = 90, kWrongPeak, kWrongFile, kWrongNumber, kHeardSignal };
const char* text_of(int status) {
    switch (status) {
        case kNotRecorded:
            return "the recording did not begin";
        case kWrongPeak:
            return "the peak is wrong";
        case kWrongFile:
            return "a file of the program was changed";
        case kWrongNumber:
            return "the next free descriptor is another one";
        case kHeardSignal:
            return "the program's own handler of SIGBUS was called";
        default:
            return "the program ended in another way";
    }
}

enum class Attack { kNone, kTruncate, kTruncateALittle, kRemove, kRename, kReplace, kCount };

// Closes, opens and duplicates at random numbers until told to stop; every file is its own, and
// holds a whole number of lines.
void use_numbers(const std::string& folder, uint64_t seed, const std::atomic<bool>& stops) {
    std::mt19937_64 random(seed);
    const std::string name = folder + "/own." + std::to_string(seed % 4);
    while (!stops.load(std::memory_order_relaxed)) {
        const int number = kFirstNumber + static_cast<int>(random() % (kLastNumber - kFirstNumber));
        switch (random() % 4) {
            case 0:
                close(number);
                break;
            case 1:
                dup2(number, kFirstNumber + static_cast<int>(random() % 20));
                break;
            default: {
                const int file = open(name.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
                if (file > kLastNumber) {
                    close(file);
                } else if (file >= 0) {
                    // Another thread may have closed it; then it may be a file of the same kind.
                    static_cast<void>(!write(file, kWritten, sizeof kWritten - 1));
                }
            }
        }
    }
}

bool files_are_whole(const std::string& folder) {
    for (int i = 0; i < 4; ++i) {
        FILE* file = fopen((folder + "/own." + std::to_string(i)).c_str(), "re");
        char line[256];
        while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
            if (std::string(line) != kWritten) {
                return false;
            }
        }
        if (file != nullptr) {
            fclose(file);
        }
    }
    return true;
}

// Returns the peak by its own count. Without a recorder it only counts.
uint64_t record_events(Recorder* recorder, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint32_t> live(64);
    uint64_t level = 0;
    uint64_t peak = 0;
    for (uint64_t n = 0; n < kEvents; ++n) {
        const size_t slot = random() % live.size();
        const auto bytes = static_cast<uint32_t>(random() % 4000 + 1) * 512;
        const uint64_t address = (slot + 1) << 24;
        if (live[slot] != 0) {
            level -= live[slot];
            if (recorder != nullptr) {
                recorder->record_free(address, 0, Recorder::FreeKind::kCompleted, level);
            }
            live[slot] = 0;
        } else {
            level += live[slot] = bytes;
            if (recorder != nullptr) {
                recorder->record_alloc(AllocEvent{address, bytes, bytes, 0, 0, 0}, level);
            }
        }
        peak = std::max(peak, level);
    }
    return peak;
}

[[noreturn]] void be_program(const std::string& folder, uint64_t seed) {
    signal(SIGBUS, [](int) { _exit(kHeardSignal); });
    Recorder& recorder = Recorder::instance();
    const std::string path = folder + "/run.peak";
    Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kFail;
    options.keep.kind = seed % 3 == 0 ? record::Keep::Kind::kLast : record::Keep::Kind::kAll;
    options.keep.bytes = uint64_t{2} << 20;
    for (int number = kFirstNumber; number <= kLastNumber; ++number) {
        close(number);
    }
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        _exit(kNotRecorded);
    }
    recorder.start_tracing();
    std::atomic<bool> stops{false};
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < seed % 3; ++i) {
        threads.emplace_back([&, i] { use_numbers(folder, seed + i, stops); });
    }
    const uint64_t peak = record_events(&recorder, seed);
    stops.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (threads.empty() && dup(STDIN_FILENO) != kFirstNumber) {
        _exit(kWrongNumber);
    }
    recorder.close_trace();
    if (recorder.peak_bytes(0, format::Measure::kAllocated) != peak) {
        _exit(kWrongPeak);
    }
    _exit(files_are_whole(folder) ? kFine : kWrongFile);
}

void attack(const std::string& path, Attack what, std::mt19937_64& random) {
    struct stat status {};
    const bool is_there = stat(path.c_str(), &status) == 0;
    const std::string other = path + ".other";
    switch (what) {
        case Attack::kTruncate:
            static_cast<void>(!truncate(path.c_str(), 0));
            break;
        case Attack::kTruncateALittle:
            if (is_there && status.st_size > 0) {
                const auto rest =
                    static_cast<off_t>(random() % static_cast<uint64_t>(status.st_size));
                static_cast<void>(!truncate(path.c_str(), rest));
            }
            break;
        case Attack::kRemove:
            unlink(path.c_str());
            break;
        case Attack::kRename:
            rename(path.c_str(), other.c_str());
            break;
        case Attack::kReplace:
            if (FILE* file = fopen(other.c_str(), "we")) {
                fputs(kWritten, file);
                fclose(file);
                rename(other.c_str(), path.c_str());
            }
            break;
        default:
            break;
    }
}

// Empty: it is whole, or was attacked and can be read or is refused with an error.
std::string fault_of_trace(const std::string& path, Attack what, uint64_t seed) {
    struct stat status {};
    if (what == Attack::kReplace) {
        return stat(path.c_str(), &status) != 0 || status.st_size == sizeof kWritten - 1
                   ? ""
                   : "the file that took the trace's name was changed";
    }
    try {
        const auto reader = report::TraceReader::open_file(path);
        const auto result = report::replay(reader, {});
        if (what == Attack::kNone && (result.chosen.peak_bytes != record_events(nullptr, seed) ||
                                      !result.health.problems.texts().empty())) {
            return "the trace is not whole";
        }
    } catch (const std::exception&) {
        return what == Attack::kNone ? "the trace cannot be read" : "";
    }
    return "";
}

std::string run(const std::string& folder, uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string path = folder + "/run.peak";
    const auto what = static_cast<Attack>(random() % static_cast<uint64_t>(Attack::kCount));
    const pid_t child = fork();
    if (child == 0) {
        be_program(folder, seed);
    }
    struct stat status_of_file {};
    int status = 0;
    pid_t ended = 0;
    while (stat(path.c_str(), &status_of_file) != 0 && ended == 0) {
        ended = waitpid(child, &status, WNOHANG);
    }
    const timespec pause{0, static_cast<long>(random() % 20'000'000)};
    nanosleep(&pause, nullptr);
    attack(path, what, random);
    while (ended == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    std::string fault;
    // The attack may come before the first chunk.
    const bool may_not_begin = what != Attack::kNone;
    if (WIFSIGNALED(status)) {
        fault = "the program was ended by signal " + std::to_string(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != kFine &&
               !(may_not_begin && WEXITSTATUS(status) == kNotRecorded)) {
        fault = text_of(WEXITSTATUS(status));
    } else {
        fault = fault_of_trace(path, what, seed);
    }
    for (const char* name : {"run.peak", "run.peak.other", "own.0", "own.1", "own.2", "own.3"}) {
        unlink((folder + "/" + name).c_str());
    }
    return fault.empty() ? fault
                         : fault + " (attack " + std::to_string(static_cast<int>(what)) + ")";
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t runs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 300;
    const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const char* temporary = getenv("TMPDIR");
    std::string folder =
        std::string(temporary != nullptr ? temporary : "/tmp") + "/peakline-file-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
        std::perror(folder.c_str());
        return 1;
    }
    for (uint64_t i = 0; i < runs; ++i) {
        const std::string fault = run(folder, seed + i);
        if (!fault.empty()) {
            std::printf("file_test: seed %llu: %s\n",
                        static_cast<unsigned long long>(seed + i),
                        fault.c_str());
            return 1;
        }
    }
    rmdir(folder.c_str());
    std::printf("file_test: %llu attacks, 0 programs changed\n",
                static_cast<unsigned long long>(runs));
    return 0;
}
