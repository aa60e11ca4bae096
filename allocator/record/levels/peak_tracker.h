// The exact peak of one view (one device, one measure) and the set of blocks live at it, in O(1)
// per event. Used by the recorder (under its lock) and by replay: both find the same peak.
// Not thread safe. Never calls malloc. `Block` holds the facts of a freed block, among them its
// `ordinal`.
//
// Note [Lazy side list]
// A block carries the ordinal of its allocation. If peak_ordinal is the ordinal of the allocation
// that made the peak, the live set at the peak is
//     { live blocks with ordinal <= peak_ordinal }  +  side
// where side holds the blocks with ordinal <= peak_ordinal freed since. A new peak empties the
// side list; a free adds to it at most once; only allocations can make a peak. Strict `>` keeps
// the earliest maximum. |side| is at most the number of blocks live at the peak.
#pragma once

#include <cstdint>

#include "live_set.h"

namespace peakline::record {

template <class Block>
class PeakTrackerOf {
public:
    // Room for the side list, in blocks. False when memory cannot be mapped.
    bool init(size_t side_capacity = size_t{1} << 26) { return side_.reserve(side_capacity); }

    void on_alloc(uint64_t ordinal, uint64_t bytes, uint64_t tick) {
        if (tracing_) {
            on_alloc_while_tracing(ordinal, bytes, tick);
        } else {
            level_ += bytes;
        }
    }
    void on_alloc_while_tracing(uint64_t ordinal, uint64_t bytes, uint64_t tick) {
        level_ += bytes;
        total_allocated_bytes_ += bytes;
        if (level_ > peak_) [[unlikely]] {
            set_peak(ordinal, tick);
        }
    }

    // A block that is only known to exist: counts for level and peak, not for the total.
    void on_untraced_alloc(uint64_t ordinal, uint64_t bytes, uint64_t tick) {
        level_ += bytes;
        if (tracing_ && level_ > peak_) {
            set_peak(ordinal, tick);
        }
    }

    // `bytes`: the size of the block in this view. `block.ordinal` shows whether it was live at the
    // peak.
    void on_free(const Block& block, uint64_t bytes) {
        level_ -= bytes;
        if (block.ordinal < after_peak_) [[unlikely]] {
            keep_freed(block);
        }
    }

    // From now on levels count for the peak, beginning with the current level. `last_ordinal`
    // belongs to the newest allocation; pass has_allocations = false if there is none.
    void start(uint64_t last_ordinal, bool has_allocations, uint64_t tick) {
        tracing_ = true;
        if (has_allocations && (level_ > peak_ || (after_peak_ == 0 && peak_ == 0))) {
            set_peak(last_ordinal, tick);
        }
    }
    void stop() { tracing_ = false; }

    // Forgets the peak and the total; the level stays.
    void reset() {
        peak_ = total_allocated_bytes_ = 0;
        after_peak_ = 0;
        side_.clear();
    }

    // Continues from a peak found elsewhere, without its blocks: until there is a higher peak,
    // has_peak() is false and peak_bytes() is right.
    void restore(uint64_t level_bytes,
                 uint64_t peak_bytes,
                 uint64_t peak_tick,
                 uint64_t total_allocated_bytes) {
        reset();
        level_ = level_bytes;
        peak_ = peak_bytes;
        peak_tick_ = peak_tick;
        total_allocated_bytes_ = total_allocated_bytes;
    }

    bool was_live_at_peak(uint64_t ordinal) const { return ordinal < after_peak_; }

    uint64_t level_bytes() const { return level_; }
    uint64_t peak_bytes() const { return peak_; }
    uint64_t peak_tick() const { return peak_tick_; }
    // The allocation that made the peak; meaningless without has_peak().
    uint64_t peak_ordinal() const { return after_peak_ - 1; }
    uint64_t total_allocated_bytes() const { return total_allocated_bytes_; }
    uint64_t side_dropped_count() const { return side_dropped_; }
    bool has_peak() const { return after_peak_ != 0; }
    const MappedArray<Block>& freed_since_peak() const { return side_; }

private:
    // Runs at most once per block, and never in a loop without a new peak.
    [[gnu::noinline]] void keep_freed(const Block& block) {
        side_dropped_ += side_.push(block) ? 0 : 1;
    }
    [[gnu::noinline]] void set_peak(uint64_t ordinal, uint64_t tick) {
        peak_ = level_;
        after_peak_ = ordinal + 1;
        peak_tick_ = tick;
        side_.clear();
    }

    uint64_t level_ = 0;
    uint64_t peak_ = 0;
    uint64_t after_peak_ = 0;  // ordinal of the allocation that made the peak, plus 1; 0: none
    uint64_t total_allocated_bytes_ = 0;
    bool tracing_ = false;
    uint64_t peak_tick_ = 0;
    uint64_t side_dropped_ = 0;
    MappedArray<Block> side_;
};

using PeakTracker = PeakTrackerOf<LiveBlock>;

}  // namespace peakline::record
