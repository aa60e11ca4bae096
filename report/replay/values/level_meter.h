// Levels of every device (or of their sum), and what happened to them within windows of time that
// open and close in any order: the level at both ends, the peak, what was allocated and freed.
//
// Note [Windows]
// An event touches the newest open window only. A window that closes takes its peak from itself
// and all younger ones, and hands its own to the next older one, which was open all that time. So
// the cost is that of the events and of the windows, not of their product.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peakline::report {

// What happened to one slot in a window. A slot is a device, or the sum of all.
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

using LevelUses = std::vector<LevelUse>;  // by slot; a missing one was never used

// Of two windows, the second of which began where the first ended.
LevelUses joined(const LevelUses& first, const LevelUses& second);

class LevelMeter {
public:
    using WindowId = uint64_t;

    void on_alloc(uint32_t slot, uint64_t bytes, uint64_t tick) {
        Slot& now = slot_at(slot);
        now.level += bytes;
        now.allocated += bytes;
        ++now.alloc_count;
        if (tracing_ && !open_.empty()) {
            raise(open_.back(), slot, now.level, tick);
        }
    }
    void on_free(uint32_t slot, uint64_t bytes) {
        Slot& now = slot_at(slot);
        now.level -= bytes;
        now.freed += bytes;
        ++now.free_count;
    }
    // Peaks count while tracing only; the level when it starts is the first candidate.
    void start_tracing(uint64_t tick);
    void stop_tracing() { tracing_ = false; }

    WindowId open(uint64_t tick);
    LevelUses close(WindowId id);

private:
    struct Slot {
        uint64_t level = 0;
        uint64_t allocated = 0;
        uint64_t freed = 0;
        uint64_t alloc_count = 0;
        uint64_t free_count = 0;
    };
    struct Peak {
        uint64_t bytes = 0;
        uint64_t tick = 0;
    };
    struct Window {
        WindowId id = 0;
        std::vector<Slot> begin;
        std::vector<Peak> peaks;
    };

    Slot& slot_at(uint32_t slot) {
        if (slot >= slots_.size()) {
            slots_.resize(slot + 1);
        }
        return slots_[slot];
    }
    static void raise(Window& window, size_t slot, uint64_t level, uint64_t tick) {
        if (slot >= window.peaks.size()) {
            window.peaks.resize(slot + 1);
        }
        if (level > window.peaks[slot].bytes) {
            window.peaks[slot] = {level, tick};
        }
    }

    std::vector<Slot> slots_;
    std::vector<Window> open_;  // oldest first
    WindowId next_id_ = 1;
    bool tracing_ = false;
};

}  // namespace peakline::report
