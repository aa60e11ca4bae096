#include "level_meter.h"

#include <algorithm>

namespace peakline::report {

LevelUses joined(const LevelUses& first, const LevelUses& second) {
    LevelUses both = second;
    for (size_t slot = 0; slot < first.size() && slot < both.size(); ++slot) {
        LevelUse& use = both[slot];
        const LevelUse& before = first[slot];
        use.begin_bytes = before.begin_bytes;
        if (before.peak_bytes >= use.peak_bytes) {
            use.peak_bytes = before.peak_bytes;
            use.peak_tick = before.peak_tick;
        }
        use.allocated_bytes += before.allocated_bytes;
        use.freed_bytes += before.freed_bytes;
        use.alloc_count += before.alloc_count;
        use.free_count += before.free_count;
    }
    return both;
}

void LevelMeter::start_tracing(uint64_t tick) {
    tracing_ = true;
    for (size_t slot = 0; slot < slots_.size() && !open_.empty(); ++slot) {
        raise(open_.back(), slot, slots_[slot].level, tick);
    }
}

LevelMeter::WindowId LevelMeter::open(uint64_t tick) {
    Window& window = open_.emplace_back();
    window.id = next_id_++;
    window.begin = slots_;
    for (size_t slot = 0; tracing_ && slot < slots_.size(); ++slot) {
        raise(window, slot, slots_[slot].level, tick);
    }
    return window.id;
}

LevelUses LevelMeter::close(WindowId id) {
    const auto closing = std::find_if(
        open_.begin(), open_.end(), [id](const Window& window) { return window.id == id; });
    if (closing == open_.end()) {
        return {};
    }
    closing->begin.resize(slots_.size());
    LevelUses uses(slots_.size());
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
        const Slot& begin = closing->begin[slot];
        const Slot& now = slots_[slot];
        Peak peak;
        for (auto window = closing; window != open_.end(); ++window) {
            if (slot < window->peaks.size() && window->peaks[slot].bytes > peak.bytes) {
                peak = window->peaks[slot];
            }
        }
        uses[slot] = {begin.level,
                      now.level,
                      peak.bytes,
                      peak.tick,
                      now.allocated - begin.allocated,
                      now.freed - begin.freed,
                      now.alloc_count - begin.alloc_count,
                      now.free_count - begin.free_count};
    }
    if (closing != open_.begin()) {
        Window& older = *(closing - 1);
        for (size_t slot = 0; slot < closing->peaks.size(); ++slot) {
            raise(older, slot, closing->peaks[slot].bytes, closing->peaks[slot].tick);
        }
    }
    open_.erase(closing);
    return uses;
}

}  // namespace peakline::report
