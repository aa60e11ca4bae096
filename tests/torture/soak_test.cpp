// Records events without end and watches the recorder itself: after warm-up its memory, its
// mappings and the bounded file stand still. soak_test [EVENTS]; exit code 1 when they do not.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "allocator/record/recorder.h"

using namespace peakline;
using record::AllocEvent;
using record::Keep;
using record::Recorder;

namespace {

constexpr uint64_t kFileBytes = uint64_t{64} << 20;
constexpr uint32_t kSlots = 3000;
constexpr uint32_t kContexts = 2000;
// A page of a table that is touched late, a few events of difference in the open chunk.
constexpr uint64_t kSlackKilobytes = 512;

struct Memory {
    uint64_t resident_kilobytes = 0;  // of the program's own, without pages of the file
    uint64_t mapped_kilobytes = 0;
    uint64_t file_bytes = 0;
};

Memory memory_now(const std::string& path) {
    Memory memory;
    FILE* status = std::fopen("/proc/self/status", "r");
    char line[256];
    while (status != nullptr && std::fgets(line, sizeof line, status) != nullptr) {
        if (std::strncmp(line, "RssAnon:", 8) == 0) {
            memory.resident_kilobytes = std::strtoull(line + 8, nullptr, 10);
        } else if (std::strncmp(line, "VmSize:", 7) == 0) {
            memory.mapped_kilobytes = std::strtoull(line + 7, nullptr, 10);
        }
    }
    if (status != nullptr) {
        std::fclose(status);
    }
    struct stat facts = {};
    memory.file_bytes = stat(path.c_str(), &facts) == 0 ? static_cast<uint64_t>(facts.st_size) : 0;
    return memory;
}

// Training and churn in turn: repeated shapes, and sizes never seen before.
class Program {
public:
    explicit Program(Recorder& recorder) : recorder_(recorder), live_(kSlots) {
        for (uint32_t i = 1; i <= kContexts; ++i) {
            contexts_.push_back(recorder.table().intern_context(record::Context{i, 0, 0, 0, i, 0}));
        }
    }

    void run(uint64_t events) {
        for (uint64_t i = 0; i < events; ++i) {
            const uint64_t dice = random_();
            const auto slot = static_cast<uint32_t>(dice % kSlots);
            const uint64_t address = (slot + 1) * uint64_t{262144};
            if (live_[slot]) {
                recorder_.record_free(
                    address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
            } else {
                const uint64_t bytes = (dice >> 40) % 2 == 0 ? slot * 512 + 512 : dice >> 44;
                recorder_.record_alloc(
                    AllocEvent{address, bytes, bytes, contexts_[slot % kContexts], 0, 0},
                    record::kUnknownTotal);
            }
            live_[slot] = !live_[slot];
        }
    }

private:
    Recorder& recorder_;
    std::mt19937_64 random_{1};
    std::vector<uint32_t> contexts_;
    std::vector<bool> live_;
};

bool is_flat(const char* what, uint64_t warm, uint64_t now, uint64_t slack) {
    std::printf("  %-22s %12llu after warm-up, %12llu at the end\n",
                what,
                static_cast<unsigned long long>(warm),
                static_cast<unsigned long long>(now));
    return now <= warm + slack;
}

}  // namespace

int main(int argc, char** argv) {
    const uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
    const char* folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/peakline-soak-" +
                             std::to_string(getpid()) + ".peak";
    Recorder& recorder = Recorder::instance();
    Recorder::TraceOptions options{};
    options.path = path.c_str();
    options.exists = record::FileTarget::Exists::kReplace;
    options.keep = Keep{Keep::Kind::kLast, kFileBytes};
    if (!recorder.init(nullptr) || recorder.open_trace(options) != 0) {
        std::fprintf(stderr, "soak_test: cannot record to %s\n", path.c_str());
        return 1;
    }
    recorder.start_tracing();
    Program program(recorder);
    // Warm: every slot, every context, and the file once round. Its space is taken in steps that
    // double, so that it has ended to grow only when three rounds did not change it.
    const uint64_t round = 5'000'000;
    uint64_t file_bytes = 0;
    for (int i = 0, same = 0; i < 20 && same < 3; ++i) {
        program.run(round);
        same = memory_now(path).file_bytes == file_bytes ? same + 1 : 0;
        file_bytes = memory_now(path).file_bytes;
    }
    const Memory warm = memory_now(path);
    program.run(events);
    const Memory now = memory_now(path);
    const record::RecorderCounters counters = recorder.counters();
    recorder.close_trace();
    unlink(path.c_str());
    std::printf("soak_test: %llu events, %llu dropped\n",
                static_cast<unsigned long long>(counters.trace_events),
                static_cast<unsigned long long>(counters.records_dropped));
    const bool is_good =
        is_flat("resident kB", warm.resident_kilobytes, now.resident_kilobytes, kSlackKilobytes) &
        is_flat("mapped kB", warm.mapped_kilobytes, now.mapped_kilobytes, 2 * kSlackKilobytes) &
        is_flat("file bytes", warm.file_bytes, now.file_bytes, 0) &
        (counters.records_dropped == 0 ? 1 : 0);
    return is_good ? 0 : 1;
}
