// A random program that drives a recorder, and the model it is compared with: levels by brute
// force, the live blocks copied at each new maximum. For the tests of traces.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include "allocator/record/recorder.h"
#include "report/attribute/stacks/phase_rules.h"
#include "report/replay/replay.h"
#include "report/views/selection/selection.h"
#include "tests/unit/catching.h"
#include "tests/unit/report/trace_builder.h"

namespace peakline::test {

using format::MarkKind;
using format::Measure;
using record::AllocEvent;
using record::Recorder;

inline constexpr uint32_t kDevices = 3;
inline constexpr uint32_t kPhases = 4;
inline constexpr Measure kMeasures[] = {Measure::kAllocated, Measure::kRequested};

// context, requested, block -> count
using Groups = std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint64_t>;

class TemporaryFile {
public:
    TemporaryFile() {
        const int descriptor = mkstemp(path_);
        REQUIRE(descriptor >= 0);
        ::close(descriptor);
    }
    ~TemporaryFile() { unlink(path_); }
    const char* path() const { return path_; }
    Bytes bytes() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    char path_[64] = "/tmp/peakline-round-trip-XXXXXX";
};

inline uint64_t file_bytes(const char* path) {
    struct stat facts = {};
    REQUIRE(stat(path, &facts) == 0);
    return static_cast<uint64_t>(facts.st_size);
}

inline std::unique_ptr<Recorder> new_recorder() {
    auto recorder = std::make_unique<Recorder>();
    REQUIRE(recorder->init(nullptr));
    return recorder;
}

// Opens a recording to a new file in the place of any there; 0 or an errno.
inline int open_trace(Recorder& recorder, const char* path, record::Keep keep = {}) {
    Recorder::TraceOptions options = {};
    options.path = path;
    options.exists = record::FileTarget::Exists::kReplace;
    options.keep = keep;
    return recorder.open_trace(options);
}

// A recorder of its own that records to `path`.
inline std::unique_ptr<Recorder> start_recording(const char* path, record::Keep keep = {}) {
    auto recorder = new_recorder();
    REQUIRE(open_trace(*recorder, path, keep) == 0);
    recorder->start_tracing();
    return recorder;
}

// One device in one measure, by brute force.
struct View {
    uint64_t level = 0;
    uint64_t peak = 0;
    uint64_t total = 0;
    bool found = false;
    Groups at_peak = {};
    Groups live = {};
};

// Drives a recorder at random and keeps the model.
class RandomProgram {
public:
    explicit RandomProgram(uint32_t seed) : random_(seed), recorder_(new_recorder()) {
        contexts_.push_back(recorder_->untraced_context());
        for (uint32_t i = 1; i <= 6; ++i) {
            contexts_.push_back(new_context(i));
        }
    }

    Recorder& recorder() { return *recorder_; }
    const View& view(uint32_t device, Measure measure) const {
        return views_[device][static_cast<size_t>(measure)];
    }

    const View& phase_view(uint32_t phase, uint32_t device, Measure measure) const {
        return phase_views_[phase][device][static_cast<size_t>(measure)];
    }
    static std::string phase_name(uint32_t phase) { return "phase" + std::to_string(phase); }

    // From here on the program opens and closes phases, too.
    void use_phases() { uses_phases_ = true; }

    void open(const char* path, record::Keep keep = {}) {
        REQUIRE(open_trace(*recorder_, path, keep) == 0);
        for (auto& views : views_) {
            for (View& view : views) {
                view.found = false;
                view.peak = view.total = 0;
                view.at_peak.clear();
            }
        }
        for (auto& devices : phase_views_) {
            for (auto& views : devices) {
                views[0] = views[1] = View();
            }
        }
        look_at_levels();
    }

    void run(int event_count) {
        for (int i = 0; i < event_count; ++i) {
            add_event();
            look_at_levels();
        }
    }

    void set_tracing(bool tracing) {
        tracing ? recorder_->start_tracing() : recorder_->stop_tracing();
        tracing_ = tracing;
        look_at_levels();
    }

private:
    struct Block {
        AllocEvent event;
        bool deferred = false;
    };

    uint64_t pick(uint64_t bound) { return random_() % bound; }

    uint32_t new_context(uint32_t n) {
        record::StackTable& table = recorder_->table();
        const std::string name = "file" + std::to_string(n) + ".py";
        const uint32_t file = table.intern_string(name.data(), name.size());
        const uint32_t frame = table.intern_python_frame(file, file, file, n);
        const uint32_t node = table.intern_python_node(0, frame);
        return table.intern_context(record::Context{0, node, 0, 0, 0, 0});
    }

    void add_event() {
        const uint64_t dice = pick(100);
        if (dice < 50 || live_.empty()) {
            add_alloc();
        } else if (dice < 92) {
            add_free();
        } else if (dice < 95) {
            set_tracing(!tracing_);
        } else if (dice < 96 && uses_phases_) {
            switch_phase(static_cast<uint32_t>(pick(kPhases)));
        } else if (dice < 97 && contexts_.size() < 2000) {
            // Contexts and definitions come while the program runs.
            contexts_.push_back(new_context(static_cast<uint32_t>(contexts_.size())));
        } else {
            recorder_->record_mark(MarkKind::kStep, 0, 0);
        }
    }

    void switch_phase(uint32_t phase) {
        const std::string name = phase_name(phase);
        const uint32_t string = recorder_->table().intern_string(name.data(), name.size());
        const bool opens = depth_[phase] == 0 || (depth_[phase] < 3 && pick(2) == 0);
        recorder_->record_mark(opens ? MarkKind::kPhaseBegin : MarkKind::kPhaseEnd, 0, string);
        depth_[phase] += opens ? 1 : -1;
    }

    void add_alloc() {
        AllocEvent event;
        event.address = (1 + pick(500)) * 512 + pick(2) * 8;
        event.requested_bytes = pick(5) * 100;
        event.block_bytes = event.requested_bytes + pick(3) * 50;
        event.context = contexts_[pick(contexts_.size())];
        event.device = static_cast<uint32_t>(pick(kDevices));
        if (live_.count(event.address) != 0) {
            return;
        }
        recorder_->record_alloc(event, record::kUnknownTotal);
        live_[event.address] = {event};
        for (const Measure measure : kMeasures) {
            View& view = views_[event.device][static_cast<size_t>(measure)];
            add_bytes(view, event, measure);
            const bool counts = tracing_ && event.context != recorder_->untraced_context();
            view.total += counts ? bytes_of(event, measure) : 0;
        }
    }

    void add_free() {
        auto at = live_.begin();
        std::advance(at, static_cast<ptrdiff_t>(pick(live_.size())));
        Block& block = at->second;
        if (!block.deferred && pick(4) == 0) {
            recorder_->record_free(at->first,
                                   block.event.device,
                                   Recorder::FreeKind::kDeferred,
                                   record::kUnknownTotal);
            block.deferred = true;
            remove_bytes(block.event, Measure::kAllocated);
            return;
        }
        if (block.deferred) {
            recorder_->record_free_completed(at->first);
        } else {
            recorder_->record_free(at->first,
                                   block.event.device,
                                   Recorder::FreeKind::kCompleted,
                                   record::kUnknownTotal);
            remove_bytes(block.event, Measure::kAllocated);
        }
        remove_bytes(block.event, Measure::kRequested);
        live_.erase(at);
    }

    static uint64_t bytes_of(const AllocEvent& event, Measure measure) {
        return measure == Measure::kAllocated ? event.block_bytes : event.requested_bytes;
    }
    static std::tuple<uint32_t, uint64_t, uint64_t> key_of(const AllocEvent& event) {
        return {event.context, event.requested_bytes, event.block_bytes};
    }
    static void add_bytes(View& view, const AllocEvent& event, Measure measure) {
        view.level += bytes_of(event, measure);
        ++view.live[key_of(event)];
    }
    void remove_bytes(const AllocEvent& event, Measure measure) {
        View& view = views_[event.device][static_cast<size_t>(measure)];
        view.level -= bytes_of(event, measure);
        if (--view.live[key_of(event)] == 0) {
            view.live.erase(key_of(event));
        }
    }

    static void look_at(const View& now, View& peak) {
        if (!peak.found || now.level > peak.peak) {
            peak.found = true;
            peak.peak = now.level;
            peak.at_peak = now.live;
        }
    }

    void look_at_levels() {
        for (uint32_t device = 0; device < kDevices && tracing_; ++device) {
            for (size_t measure = 0; measure < 2; ++measure) {
                View& view = views_[device][measure];
                look_at(view, view);
                for (uint32_t phase = 0; phase < kPhases; ++phase) {
                    if (depth_[phase] > 0) {
                        look_at(view, phase_views_[phase][device][measure]);
                    }
                }
            }
        }
    }

    std::mt19937 random_;
    std::unique_ptr<Recorder> recorder_;
    std::vector<uint32_t> contexts_;
    std::map<uint64_t, Block> live_;
    View views_[kDevices][2];
    View phase_views_[kPhases][kDevices][2];
    int depth_[kPhases] = {};
    bool tracing_ = false;
    bool uses_phases_ = false;
};

inline report::SelectionText selection_of(uint32_t device, Measure measure, const char* at) {
    report::SelectionText selection;
    selection.device = std::to_string(device);
    selection.measure = measure == Measure::kAllocated ? "allocated" : "requested";
    selection.at = at;
    return selection;
}

inline report::ReplayResult ask(const report::TraceReader& reader,
                                uint32_t device,
                                Measure measure,
                                const char* at = "peak") {
    const report::PhaseRules rules = report::make_phase_rules(reader.definitions());
    report::ReplayRequest request =
        report::parse_selection(selection_of(device, measure, at)).request;
    request.phase_rules = &rules;
    return report::replay(reader, request);
}

inline Groups groups_of(const report::LiveBlocks& blocks) {
    Groups groups;
    for (const report::BlockGroup& group : blocks.groups) {
        groups[{group.context, group.requested_bytes, group.block_bytes}] += group.count;
    }
    return groups;
}

inline void check_view(const report::TraceReader& reader,
                       RandomProgram& program,
                       uint32_t device,
                       Measure measure) {
    const View& view = program.view(device, measure);
    const auto peak = ask(reader, device, measure);
    REQUIRE(peak.chosen.peak_bytes == view.peak);
    REQUIRE(peak.chosen.total_allocated_bytes == view.total);
    REQUIRE(peak.blocks.level_bytes == view.peak);
    REQUIRE(groups_of(peak.blocks) == view.at_peak);
    const auto end = ask(reader, device, measure, "end");
    REQUIRE(end.blocks.level_bytes == view.level);
    REQUIRE(groups_of(end.blocks) == view.live);
    REQUIRE(program.recorder().peak_bytes(device, measure) == view.peak);
    REQUIRE(program.recorder().level_bytes(device, measure) == view.level);
}

}  // namespace peakline::test
