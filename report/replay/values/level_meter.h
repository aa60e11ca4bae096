// Measures the levels of every device (or of their sum) within windows of time that open and close
// in any order: the level at both ends, the peak, the allocated and freed bytes.
//
// Note [Windows]
// A window is two moments, and costs the same for any number of events in it. Each slot has its own
// record: if a window opens or closes and the slot changes afterwards, one entry stores the slot's
// state and its highest level until the next entry. The result of a window for a slot comes from
// the entries between its moments, and a tree finds the highest of them. So the cost is that of the
// events plus the windows, not their product, nor windows times devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace peakline::report {

// The use of one slot in a window. A slot is a device, or the sum of all.
struct LevelUse {
    uint64_t begin_bytes = 0;
    uint64_t end_bytes = 0;
    uint64_t peak_bytes = 0;
    uint64_t peak_tick = 0;
    uint64_t allocated_bytes = 0;
    uint64_t freed_bytes = 0;
    uint64_t alloc_count = 0;
    uint64_t free_count = 0;
};

class LevelRecord;

// The use in a window, or in several consecutive ones. Stays valid while the meter continues.
class LevelUses {
public:
    LevelUses() = default;
    // The same use for every slot.
    explicit LevelUses(const LevelUse& use) : given_(use) {}

    LevelUse of(uint32_t slot) const;
    // Appends a later window, which continues this one.
    void append(const LevelUses& later);

private:
    friend class LevelMeter;
    struct Part {
        uint64_t begin = 0;  // moments of LevelRecord
        uint64_t end = 0;
        uint64_t begin_tick = 0;
        bool is_traced = false;  // at its beginning
    };

    std::shared_ptr<const LevelRecord> record_;
    std::vector<Part> parts_;
    std::optional<LevelUse> given_;
};

// The state of slots at moments, which count from 0: each opens or closes a window, or starts
// tracing.
class LevelRecord {
public:
    struct State {
        uint64_t level = 0;
        uint64_t allocated = 0;
        uint64_t freed = 0;
        uint64_t alloc_count = 0;
        uint64_t free_count = 0;
    };
    struct Peak {
        uint64_t bytes = 0;
        uint64_t tick = 0;

        // Keeps the earlier one if both are equal.
        void raise(uint64_t other_bytes, uint64_t other_tick) {
            if (other_bytes > bytes) {
                *this = {other_bytes, other_tick};
            }
        }
    };

    // Call it before the slot changes.
    State& change(uint32_t slot) {
        if (slot >= slots_.size()) {
            slots_.resize(slot + 1);
        }
        Slot& one = slots_[slot];
        if (one.entries.empty() || one.entries.back().moment != moment_) {
            one.entries.push_back({moment_, one.now, {}});
        }
        return one.now;
    }
    void raise(uint32_t slot, uint64_t tick) {
        Slot& one = slots_[slot];
        one.entries.back().peak.raise(one.now.level, tick);
    }
    uint64_t next_moment() { return ++moment_; }
    void start_tracing(uint64_t tick);
    void stop_tracing() { stopped_ = next_moment(); }

    State state(uint32_t slot, uint64_t moment) const;
    // The highest level raised between the two moments.
    Peak highest(uint32_t slot, uint64_t begin, uint64_t end) const;
    struct Start {
        uint64_t moment = 0;
        uint64_t tick = 0;
    };
    // The first start of tracing between two moments; nullptr: none.
    const Start* first_start(uint64_t begin, uint64_t end) const;
    // Number of entries of all slots: the memory of the record.
    size_t entry_count() const;

private:
    struct Entry {
        uint64_t moment = 0;
        State before;
        Peak peak;  // until the next entry
    };
    struct Slot {
        State now;
        std::vector<Entry> entries;
        // The highest entry below each node, built on first use.
        mutable std::vector<uint32_t> tree;
    };

    // Index of the first entry at this moment or later.
    static size_t entry_at(const Slot& slot, uint64_t moment);
    static uint32_t higher(const Slot& slot, uint32_t left, uint32_t right);
    static void make_tree(const Slot& slot);

    std::vector<Slot> slots_;
    std::vector<Start> starts_;
    uint64_t moment_ = 0;
    uint64_t stopped_ = 0;  // the moment when tracing stopped last
};

class LevelMeter {
public:
    struct Window {
        uint64_t moment = 0;
        uint64_t tick = 0;
        bool is_traced = false;
    };

    void on_alloc(uint32_t slot, uint64_t bytes, uint64_t tick) {
        LevelRecord::State& now = record_->change(slot);
        now.level += bytes;
        now.allocated += bytes;
        ++now.alloc_count;
        if (tracing_) {
            record_->raise(slot, tick);
        }
    }
    void on_free(uint32_t slot, uint64_t bytes) {
        LevelRecord::State& now = record_->change(slot);
        now.level -= bytes;
        now.freed += bytes;
        ++now.free_count;
    }
    // Peaks count only while tracing is on; the level at its start is the first candidate.
    void start_tracing(uint64_t tick) {
        if (!tracing_) {
            record_->start_tracing(tick);
        }
        tracing_ = true;
    }
    void stop_tracing() {
        if (tracing_) {
            record_->stop_tracing();
        }
        tracing_ = false;
    }

    Window open(uint64_t tick) { return {record_->next_moment(), tick, tracing_}; }
    LevelUses close(const Window& window);
    const LevelRecord& record() const { return *record_; }

private:
    std::shared_ptr<LevelRecord> record_ = std::make_shared<LevelRecord>();
    bool tracing_ = false;
};

}  // namespace peakline::report
