// Replay against brute force: thousands of random traces, each also replayed by copying the whole
// live map at every new maximum.
#include <map>
#include <random>
#include <tuple>

#include "report_testing.h"
#include "tests/unit/catching.h"

namespace peakline::test {
namespace {

using format::Measure;
// context, device, requested, block -> count
using Groups = std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint64_t>, uint64_t>;

struct Block {
    uint32_t context;
    uint32_t device;
    uint64_t requested_bytes;
    uint64_t block_bytes;
    bool deferred = false;

    uint64_t bytes(Measure measure) const {
        return measure == Measure::kAllocated ? block_bytes : requested_bytes;
    }
};

constexpr uint32_t kAllDevices = 99;
constexpr uint32_t kDeviceCount = 3;
constexpr uint32_t kContextCount = 5;

// One query of the brute-force replay, and its result.
struct Peak {
    uint32_t device = 0;
    Measure measure = Measure::kAllocated;
    bool in_phase = false;
    bool found = false;
    uint64_t bytes = 0;
    uint64_t total_bytes = 0;
    Groups groups = {};
};

// Writes a random trace and replays it by brute force at the same time.
class RandomTrace {
public:
    explicit RandomTrace(uint32_t seed) : random_(seed) {
        for (const Measure measure : {Measure::kAllocated, Measure::kRequested}) {
            for (const bool in_phase : {false, true}) {
                for (uint32_t device = 0; device < kDeviceCount; ++device) {
                    add_peak(device, measure, in_phase);
                }
                add_peak(kAllDevices, measure, in_phase);
            }
        }
        for (uint32_t i = 0; i < kContextCount; ++i) {
            const uint64_t flags = i == 0 ? uint64_t{format::kUntraced} : 0;
            builder_.define(format::DefType::kContext, fields({0, 0, 0, 0, 0, flags}));
        }
        phase_ = builder_.define_string("phase");
        const int event_count = 1 + static_cast<int>(pick(120));
        for (int i = 0; i < event_count; ++i) {
            add_event();
            compare_levels();
            if (pick(10) == 0) {
                builder_.advance(1 + pick(200));
            }
        }
        builder_.mark(format::MarkKind::kProcessEnd);
    }

    Bytes bytes() { return builder_.finish(); }
    const std::vector<Peak>& peaks() const { return peaks_; }
    bool was_in_phase() const { return was_in_phase_; }

    Groups live(uint32_t device, Measure measure) const {
        Groups groups;
        for (const auto& [ordinal, block] : live_) {
            const bool ended = measure == Measure::kAllocated && block.deferred;
            if (!ended && (device == kAllDevices || block.device == device)) {
                ++groups[{block.context, block.device, block.requested_bytes, block.block_bytes}];
            }
        }
        return groups;
    }

private:
    uint64_t pick(uint64_t bound) { return random_() % bound; }

    void add_peak(uint32_t device, Measure measure, bool in_phase) {
        Peak& peak = peaks_.emplace_back();
        peak.device = device;
        peak.measure = measure;
        peak.in_phase = in_phase;
    }

    void add_event() {
        const uint64_t dice = pick(100);
        if (dice < 50 || live_.empty()) {
            add_alloc();
        } else if (dice < 85) {
            add_free();
        } else if (dice < 90) {
            tracing_ = !tracing_;
            builder_.mark(tracing_ ? format::MarkKind::kTracingStarted
                                   : format::MarkKind::kTracingStopped);
        } else if (dice < 97) {
            change_phase();
        } else {
            builder_.next_event_chunk();
        }
    }

    void change_phase() {
        const bool ends = phase_depth_ > 0 && pick(2) == 0;
        phase_depth_ += ends ? -1 : 1;
        builder_.mark(ends ? format::MarkKind::kPhaseEnd : format::MarkKind::kPhaseBegin, phase_);
    }

    void add_alloc() {
        Block block;
        block.context = 1 + static_cast<uint32_t>(pick(kContextCount));
        block.device = static_cast<uint32_t>(pick(kDeviceCount));
        block.requested_bytes = pick(4) * 100;
        block.block_bytes = block.requested_bytes + pick(3) * 50;
        Bytes shape = fields({block.context, block.device, 0, block.requested_bytes});
        put_zz(shape, static_cast<int64_t>(block.block_bytes - block.requested_bytes));
        const uint64_t address = 512 * (1 + pick(50)) + pick(2);
        uint64_t ordinal = 0;
        if (pick(2) == 0) {
            ordinal = builder_.alloc_inline(shape, address);
        } else {
            const auto [at, is_new] = classes_.try_emplace(shape, 0);
            if (is_new) {
                at->second = builder_.define(format::DefType::kClass, shape);
            }
            ordinal = builder_.alloc_class(at->second, address);
        }
        live_[ordinal] = block;
        count_total(block);
    }

    void count_total(const Block& block) {
        const bool untraced = block.context == 1;
        for (Peak& peak : peaks_) {
            if (tracing_ && !untraced && covers(peak, block)) {
                peak.total_bytes += block.bytes(peak.measure);
            }
        }
    }

    void add_free() {
        auto at = live_.begin();
        std::advance(at, static_cast<ptrdiff_t>(pick(live_.size())));
        if (at->second.deferred) {
            builder_.free_completed(at->first);
            live_.erase(at);
        } else if (pick(4) == 0) {
            builder_.free_deferred(at->first);
            at->second.deferred = true;
        } else {
            builder_.free(at->first);
            live_.erase(at);
        }
    }

    static bool covers(const Peak& peak, const Block& block) {
        return peak.device == kAllDevices || peak.device == block.device;
    }

    void compare_levels() {
        was_in_phase_ = was_in_phase_ || (tracing_ && phase_depth_ > 0);
        for (Peak& peak : peaks_) {
            if (!tracing_ || (peak.in_phase && phase_depth_ == 0)) {
                continue;
            }
            uint64_t level = 0;
            for (const auto& [ordinal, block] : live_) {
                const bool ended = peak.measure == Measure::kAllocated && block.deferred;
                level += !ended && covers(peak, block) ? block.bytes(peak.measure) : 0;
            }
            if (!peak.found || level > peak.bytes) {
                peak.found = true;
                peak.bytes = level;
                peak.groups = live(peak.device, peak.measure);
            }
        }
    }

    std::mt19937 random_;
    TraceBuilder builder_;
    uint32_t phase_ = 0;
    std::map<Bytes, uint32_t> classes_;
    std::map<uint64_t, Block> live_;
    bool tracing_ = false;
    int phase_depth_ = 0;
    bool was_in_phase_ = false;
    std::vector<Peak> peaks_;
};

Groups groups_of(const report::LiveBlocks& blocks) {
    Groups groups;
    for (const report::BlockGroup& group : blocks.groups) {
        groups[{group.context, group.device, group.requested_bytes, group.block_bytes}] +=
            group.count;
    }
    return groups;
}

const char* name_of(Measure measure) {
    return measure == Measure::kAllocated ? "allocated" : "requested";
}

std::string name_of_device(uint32_t device) {
    return device == kAllDevices ? "all" : std::to_string(device);
}

bool has_device(const OpenTrace& trace, uint32_t device) {
    if (device == kAllDevices) {
        return true;
    }
    for (const report::DeviceTotals& totals : trace.replay().devices) {
        if (totals.device == device) {
            return true;
        }
    }
    return false;
}

// The rows of every grouping sum to the level: build_table throws otherwise.
void check_tables(const OpenTrace& trace, const Peak& peak) {
    for (const char* by : {"line", "stack"}) {
        report::SelectionText selection;
        selection.by = by;
        selection.device = name_of_device(peak.device);
        selection.measure = name_of(peak.measure);
        trace.rows(selection);
    }
}

void check_peak(const OpenTrace& trace, const Peak& peak, bool was_in_phase) {
    if (!has_device(trace, peak.device) || (peak.in_phase && !was_in_phase)) {
        return;
    }
    const auto result = trace.replay(
        peak.in_phase ? "phase" : "peak", name_of_device(peak.device), name_of(peak.measure));
    REQUIRE(result.blocks.level_bytes == peak.bytes);
    REQUIRE(groups_of(result.blocks) == peak.groups);
    if (!peak.in_phase) {
        REQUIRE(result.chosen.peak_bytes == peak.bytes);
        REQUIRE(result.chosen.total_allocated_bytes == peak.total_bytes);
        check_tables(trace, peak);
    }
}

void check_trace(uint32_t seed) {
    RandomTrace random(seed);
    const OpenTrace trace(random.bytes());
    REQUIRE(trace.replay().health.problems.texts().size() <= 1);  // tracing never started
    for (const Peak& peak : random.peaks()) {
        check_peak(trace, peak, random.was_in_phase());
        if (!peak.in_phase && has_device(trace, peak.device)) {
            const auto end =
                trace.replay("end", name_of_device(peak.device), name_of(peak.measure));
            REQUIRE(groups_of(end.blocks) == random.live(peak.device, peak.measure));
        }
    }
}

TEST_CASE("replay finds the same peak and blocks as brute force", "[report]") {
    for (uint32_t seed = 1; seed <= 1500; ++seed) {
        INFO("seed " << seed);
        check_trace(seed);
    }
}

}  // namespace
}  // namespace peakline::test
