// Files that the recorder uses inside a program: no descriptor of the program, no signal to it.
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/record/files/own_descriptors.h"
#include "allocator/record/files/page_guard.h"
#include "allocator/record/files/small_files.h"
#include "random_program.h"

namespace peakline::test {
namespace {

using record::FileTarget;
namespace page_guard = record::page_guard;

std::vector<std::string> open_numbers() {
    std::vector<std::string> numbers;
    DIR* folder = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(folder)) {
        numbers.emplace_back(entry->d_name);
    }
    closedir(folder);
    return numbers;
}

// A soft limit of open files, for a while.
class FileLimit {
public:
    explicit FileLimit(rlim_t most) {
        getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit limit{most, before_.rlim_max};
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

private:
    rlimit before_{};
};

TEST_CASE("work with descriptors of its own leaves those of the program alone", "[files]") {
    const auto before = open_numbers();
    int file = -1;
    int seen = 0;
    errno = EXDEV;
    REQUIRE(record::with_own_descriptors([&] {
                seen = fcntl(STDIN_FILENO, F_GETFD);
                file = open("/dev/null", O_RDONLY);
            }) == 0);
    CHECK(errno == EXDEV);
    CHECK(file == 0);
    CHECK(seen == -1);
    CHECK(open_numbers() == before);
    record::with_own_descriptors([&] { seen = fcntl(STDERR_FILENO, F_GETFD); },
                                 record::KeptDescriptors::kStandard);
    CHECK(seen == fcntl(STDERR_FILENO, F_GETFD));
}

TEST_CASE("a program without a free descriptor is recorded all the same", "[files]") {
    const TemporaryFile file;
    int lowest_free = dup(STDIN_FILENO);
    close(lowest_free);
    const FileLimit limit(static_cast<rlim_t>(lowest_free));
    REQUIRE(open("/dev/null", O_RDONLY) == -1);
    RandomProgram program(3);
    program.set_tracing(true);
    program.open(file.path());
    program.run(30'000);
    program.recorder().close_trace();
    const FileLimit after(1024);
    const auto reader = report::TraceReader::open_file(file.path());
    const auto result = report::replay(reader, {});
    uint64_t peak = 0;
    for (uint32_t device = 0; device < kDevices; ++device) {
        peak = std::max(peak, program.view(device, Measure::kAllocated).peak);
    }
    CHECK(result.chosen.peak_bytes == peak);
    CHECK(result.health.problems.texts().empty());
}

TEST_CASE("a file larger than the limit ends the trace and raises no signal", "[files]") {
    static volatile sig_atomic_t signals = 0;
    const auto old = signal(SIGXFSZ, [](int) { signals = signals + 1; });
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{1 << 20, before.rlim_max};
    const TemporaryFile file;
    setrlimit(RLIMIT_FSIZE, &limit);
    auto recorder = start_recording(file.path());
    uint64_t level = 0;
    for (uint64_t i = 1; i < 1'000'000; ++i) {
        recorder->record_alloc(AllocEvent{i * 4096, 512, 512, 0, 0, 0}, level += 512);
    }
    recorder->close_trace();
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, old);
    CHECK(signals == 0);
    CHECK(recorder->peak_bytes(0, Measure::kAllocated) == level);
    const auto reader = report::TraceReader::open_file(file.path());
    const auto result = report::replay(reader, {});
    CHECK(result.chosen.peak_bytes > 0);
    const auto problems = result.health.problems.texts();
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], Catch::Contains("File too large"));
}

TEST_CASE("a page that the file no longer backs is given up", "[files]") {
    const TemporaryFile file;
    FileTarget target;
    REQUIRE(target.create(file.path(), {}, FileTarget::Exists::kReplace));
    unsigned char* const chunk = target.open_chunk_slow(0);
    REQUIRE(chunk != nullptr);
    CHECK(target.loss() == FileTarget::Loss::kNone);
    const off_t rest = format::kSuperblockBytes + 4096;
    REQUIRE(truncate(file.path(), rest) == 0);
    chunk[0] = 1;     // still of the file
    chunk[4096] = 2;  // no longer
    chunk[100'000] = 3;
    CHECK(chunk[4096] == 2);
    CHECK(page_guard::is_lost());
    CHECK(target.loss() == FileTarget::Loss::kTruncated);
    CHECK(target.open_chunk_slow(1) == nullptr);
    CHECK(target.error() == ESTALE);
    target.close_chunk(0, chunk);
    target.trim(1, 100);  // must not grow or cut another file
    CHECK(file_bytes(file.path()) == static_cast<uint64_t>(rest));
    target.abandon();
}

sigjmp_buf g_jump;
const void* g_fault = nullptr;

void jump_out(int, siginfo_t* info, void*) {
    g_fault = info->si_addr;
    siglongjmp(g_jump, 1);
}

TEST_CASE("the program keeps its own handler of SIGBUS", "[files]") {
    const TemporaryFile file;
    signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler of its own
    FileTarget target;
    REQUIRE(target.create(file.path(), {}, FileTarget::Exists::kReplace));
    struct sigaction mine {};
    mine.sa_sigaction = jump_out;
    mine.sa_flags = SA_SIGINFO | SA_RESETHAND;
    struct sigaction before {};
    REQUIRE(page_guard::program_action(&mine, &before));
    CHECK(before.sa_handler == SIG_DFL);
    // A mapping of the program's own, of a file that is too short.
    const int own = open(file.path(), O_RDONLY);
    const off_t far = 1 << 30;
    auto* page = static_cast<volatile char*>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, own, far));
    close(own);
    if (sigsetjmp(g_jump, 1) == 0) {
        static_cast<void>(*page);
        FAIL("the page was read");
    }
    CHECK(g_fault == const_cast<const char*>(page));
    CHECK_FALSE(page_guard::is_lost());
    target.abandon();
    struct sigaction after {};
    REQUIRE_FALSE(page_guard::program_action(nullptr, nullptr));
    sigaction(SIGBUS, nullptr, &after);
    CHECK(after.sa_handler == SIG_DFL);  // SA_RESETHAND: the handler was called once
    munmap(const_cast<char*>(page), 4096);
}

TEST_CASE("standard error that leads to another file is not written to", "[files]") {
    const TemporaryFile file;
    const TemporaryFile other;
    const int kept = dup(STDERR_FILENO);
    const auto lead_to = [](const char* path) {
        const int opened = open(path, O_WRONLY | O_APPEND);
        dup2(opened, STDERR_FILENO);
        close(opened);
    };
    lead_to(file.path());
    const auto first = record::identity_of(STDERR_FILENO);
    const bool is_written = record::write_standard_error_slow(first, "one\n", 4);
    lead_to(other.path());
    const bool is_written_elsewhere = record::write_standard_error_slow(first, "two\n", 4);
    close(STDERR_FILENO);
    const bool is_written_nowhere = record::write_standard_error_slow(first, "six\n", 4);
    dup2(kept, STDERR_FILENO);
    close(kept);
    CHECK(is_written);
    CHECK_FALSE(is_written_elsewhere);
    CHECK_FALSE(is_written_nowhere);
    CHECK(file_bytes(file.path()) == 4);
    CHECK(file_bytes(other.path()) == 0);
}

}  // namespace
}  // namespace peakline::test
