// Compares a trace with the log of the program that was killed while it wrote it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kill_plan.h"
#include "report/replay/replay.h"

namespace peakline::torture {

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

inline Levels levels_of(const Log& log, uint64_t count) {
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
inline std::string fault_of(const std::string& path, const Log& log, Plan plan) {
    const auto reader = report::TraceReader::open_file(path);
    Collector found(reader);
    const report::EventTotals totals = reader.read_events(found);
    const auto& events = found.events();
    const uint64_t logged = log.count.load();
    // Events of the recorder's own stream: marks count, too; that of start_tracing is the first.
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

}  // namespace peakline::torture
