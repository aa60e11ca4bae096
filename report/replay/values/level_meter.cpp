#include "level_meter.h"

#include <algorithm>

namespace peakline::report {
namespace {

constexpr uint32_t kNoEntry = UINT32_MAX;

}  // namespace

// ---- LevelRecord --------------------------------------------------------------------------------

void LevelRecord::start_tracing(uint64_t tick) {
    starts_.push_back({next_moment(), tick});
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        // The level has not changed since tracing stopped, so it was as high before.
        if (!slots_[slot].entries.empty() && slots_[slot].entries.back().moment >= stopped_) {
            change(slot);
            raise(slot, tick);
        }
    }
}

size_t LevelRecord::entry_at(const Slot& slot, uint64_t moment) {
    const auto found = std::ranges::lower_bound(
        slot.entries, moment, {}, [](const Entry& one) { return one.moment; });
    return static_cast<size_t>(found - slot.entries.begin());
}

LevelRecord::State LevelRecord::state(uint32_t slot, uint64_t moment) const {
    if (slot >= slots_.size()) {
        return {};
    }
    const Slot& one = slots_[slot];
    const size_t at = entry_at(one, moment);
    return at < one.entries.size() ? one.entries[at].before : one.now;
}

// Returns the earlier one if both are equal.
uint32_t LevelRecord::higher(const Slot& slot, uint32_t left, uint32_t right) {
    if (left == kNoEntry || right == kNoEntry) {
        return std::min(left, right);
    }
    const uint64_t left_bytes = slot.entries[left].peak.bytes;
    const uint64_t right_bytes = slot.entries[right].peak.bytes;
    return left_bytes == right_bytes  ? std::min(left, right)
           : left_bytes > right_bytes ? left
                                      : right;
}

void LevelRecord::make_tree(const Slot& slot) {
    const size_t count = slot.entries.size();
    slot.tree.assign(2 * count, kNoEntry);
    for (size_t i = 0; i < count; ++i) {
        slot.tree[count + i] = static_cast<uint32_t>(i);
    }
    for (size_t i = count; i-- > 1;) {
        slot.tree[i] = higher(slot, slot.tree[2 * i], slot.tree[2 * i + 1]);
    }
}

LevelRecord::Peak LevelRecord::highest(uint32_t slot, uint64_t begin, uint64_t end) const {
    if (slot >= slots_.size()) {
        return {};
    }
    const Slot& one = slots_[slot];
    const size_t count = one.entries.size();
    size_t left = entry_at(one, begin);
    size_t right = entry_at(one, end);
    if (right - left <= 1) {
        return left < right ? one.entries[left].peak : Peak();
    }
    if (one.tree.size() != 2 * count) {
        make_tree(one);
    }
    uint32_t found = kNoEntry;
    for (left += count, right += count; left < right; left /= 2, right /= 2) {
        if (left % 2 == 1) {
            found = higher(one, found, one.tree[left++]);
        }
        if (right % 2 == 1) {
            found = higher(one, found, one.tree[--right]);
        }
    }
    return one.entries[found].peak;
}

const LevelRecord::Start* LevelRecord::first_start(uint64_t begin, uint64_t end) const {
    const auto found = std::ranges::upper_bound(
        starts_, begin, {}, [](const Start& start) { return start.moment; });
    return found != starts_.end() && found->moment < end ? &*found : nullptr;
}

size_t LevelRecord::entry_count() const {
    size_t count = 0;
    for (const Slot& slot : slots_) {
        count += slot.entries.size();
    }
    return count;
}

// ---- LevelUses ----------------------------------------------------------------------------------

LevelUse LevelUses::of(uint32_t slot) const {
    LevelUse use = given_.value_or(LevelUse());
    LevelRecord::Peak peak;
    for (const Part& part : parts_) {
        const LevelRecord::State begin = record_->state(slot, part.begin);
        const LevelRecord::State end = record_->state(slot, part.end);
        if (part.is_traced) {
            peak.raise(begin.level, part.begin_tick);
        } else if (const auto* start = record_->first_start(part.begin, part.end)) {
            peak.raise(record_->state(slot, start->moment).level, start->tick);
        }
        const LevelRecord::Peak highest = record_->highest(slot, part.begin, part.end);
        peak.raise(highest.bytes, highest.tick);
        use.begin_bytes = &part == &parts_.front() ? begin.level : use.begin_bytes;
        use.end_bytes = end.level;
        use.allocated_bytes += end.allocated - begin.allocated;
        use.freed_bytes += end.freed - begin.freed;
        use.alloc_count += end.alloc_count - begin.alloc_count;
        use.free_count += end.free_count - begin.free_count;
        use.peak_bytes = peak.bytes;
        use.peak_tick = peak.tick;
    }
    return use;
}

void LevelUses::append(const LevelUses& later) {
    record_ = later.record_ != nullptr ? later.record_ : record_;
    parts_.insert(parts_.end(), later.parts_.begin(), later.parts_.end());
}

LevelUses LevelMeter::close(const Window& window) {
    LevelUses uses;
    uses.record_ = record_;
    uses.parts_.push_back({window.moment, record_->next_moment(), window.tick, window.is_traced});
    return uses;
}

}  // namespace peakline::report
