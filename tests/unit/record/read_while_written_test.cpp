// Reads bounded traces while another thread writes them: their chunks are reused under the reader,
// and its results are still true for one moment.
#include <atomic>
#include <deque>
#include <thread>

#include "random_program.h"

namespace peakline::test {
namespace {

using record::Keep;

constexpr uint64_t kEvents = 6'000'000;
constexpr uint64_t kAllocsPerContext = 5000;
constexpr int kMostReads = 40;

// Allocations and frees; their number gives the expected levels.
class Program {
public:
    Program() {
        levels_.reserve(kEvents + 1);
        peaks_.reserve(kEvents + 1);
        levels_.push_back(0);
        peaks_.push_back(0);
    }

    // Records until it has made all its events, or is told to stop.
    template <class Tell>
    void run(Tell tell) {
        std::deque<std::pair<uint64_t, uint64_t>> live;  // address, bytes
        uint64_t level = 0;
        std::mt19937 random(7);
        for (uint64_t made = 0, event = 0; event < kEvents; ++event) {
            const bool is_alloc = live.size() < 2 || (live.size() < 300 && random() % 100 < 51);
            if (is_alloc) {
                const uint64_t bytes = 512 * (1 + random() % 1000);
                const uint64_t address = (1 + made % 100'000) << 20;
                live.emplace_back(address, bytes);
                level += bytes;
                if (!tell(address, bytes, ++made)) {
                    return;
                }
            } else {
                const auto [address, bytes] = live.front();
                live.pop_front();
                level -= bytes;
                if (!tell(address, 0, made)) {
                    return;
                }
            }
            if (levels_.size() == event + 1) {
                levels_.push_back(level);
                peaks_.push_back(std::max(peaks_.back(), level));
            }
        }
    }

    uint64_t level_after(uint64_t event_count) const { return levels_.at(event_count); }
    uint64_t peak_after(uint64_t event_count) const { return peaks_.at(event_count); }

private:
    std::vector<uint64_t> levels_;
    std::vector<uint64_t> peaks_;
};

// Also when a check throws.
struct Joining {
    std::atomic<bool>& is_read;
    std::thread& writer;
    ~Joining() {
        is_read = true;
        writer.join();
    }
};

void read_while_it_is_written(Keep keep) {
    Program program;
    program.run([](uint64_t, uint64_t, uint64_t) { return true; });  // what is true
    const TemporaryFile file;
    const auto recorder = start_recording(file.path(), keep);
    std::atomic<bool> is_read{false};
    std::thread writer([&] {
        uint32_t context = 0;
        Program().run([&](uint64_t address, uint64_t bytes, uint64_t made) {
            if (bytes == 0) {
                recorder->record_free(
                    address, 0, Recorder::FreeKind::kCompleted, record::kUnknownTotal);
                return !is_read.load(std::memory_order_relaxed);
            }
            if (made % kAllocsPerContext == 1) {
                const std::string name = "line " + std::to_string(made);
                const uint32_t text = recorder->table().intern_text(name.c_str());
                context = recorder->table().intern_context(record::Context{0, 0, 0, 0, text, 0});
            }
            recorder->record_alloc({address, bytes, bytes, context, 0, 0}, record::kUnknownTotal);
            return !is_read.load(std::memory_order_relaxed);
        });
    });
    const Joining joining{is_read, writer};
    while (recorder->counters().trace_events < kAllocsPerContext) {
        std::this_thread::yield();
    }
    int wrong = 0;
    int reads = 0;
    for (; reads < kMostReads && recorder->counters().trace_events < kEvents; ++reads) {
        const auto reader = report::TraceReader::open_file(file.path());
        const auto peak = ask(reader, 0, Measure::kAllocated);
        const auto end = ask(reader, 0, Measure::kAllocated, "end");
        const uint64_t events = peak.chosen.alloc_count + peak.chosen.free_count;
        const bool is_true = reader.is_being_written() && reader.checkpoint() != nullptr &&
                             reader.problems().empty() &&
                             peak.health.problems.texts().size() == 1 &&
                             peak.chosen.peak_bytes == program.peak_after(events) &&
                             peak.blocks.level_bytes == program.peak_after(events) &&
                             end.blocks.level_bytes == program.level_after(events);
        wrong += is_true ? 0 : 1;
        if (!is_true) {
            CAPTURE(events, peak.chosen.peak_bytes, program.peak_after(events));
            for (const std::string& problem : peak.health.problems.texts()) {
                UNSCOPED_INFO(problem);
            }
            CHECK(is_true);
        }
    }
    CHECK(wrong == 0);
    CHECK(reads > 5);
}

TEST_CASE("a trace of peaks says what is true while it is written", "[record][keep]") {
    read_while_it_is_written({Keep::Kind::kPeak, 0});
}

TEST_CASE("a trace of the newest events says what is true while it is written", "[record][keep]") {
    read_while_it_is_written({Keep::Kind::kLast, uint64_t{16} << 20});
}

}  // namespace
}  // namespace peakline::test
