#include "stack_memo.h"

#include <cstring>

namespace peakline::capture {

bool StackMemo::init(size_t set_count) {
    const size_t ways = set_count * kWays;
    if (!tags_.reserve(ways) || !tags_.resize_untouched(ways) || !entries_.reserve(ways) ||
        !entries_.resize_untouched(ways)) {
        return false;
    }
    set_mask_ = set_count - 1;
    return true;
}

void StackMemo::clear() {
    if (tags_.size() > 0) {
        std::memset(tags_.data(), 0, tags_.size() * sizeof(uint32_t));
    }
}

uint64_t StackMemo::hash(const Registers& start, uint64_t hint) {
    uint64_t mixed = start.cfa * 0xD6E8FEB86659FD93ULL;
    mixed = (mixed ^ mixed >> 32U ^ hint) * 0xA0761D6478BD642FULL;
    mixed = (mixed ^ mixed >> 29U ^ start.return_address) * 0x9E3779B97F4A7C15ULL;
    return mixed ^ mixed >> 31U;
}

// The words lie between the start and the end of this thread's stack: they can be read whatever
// became of the frames there. AddressSanitizer would have them within one variable.
[[gnu::no_sanitize("address")]] bool StackMemo::words_hold(const Entry& entry) {
    const uint64_t base = entry.start.cfa;
    for (size_t i = 0; i < entry.word_count; i += kChunk) {
        uint64_t difference = 0;
        for (size_t k = i; k < i + kChunk; ++k) {
            difference |=
                *reinterpret_cast<const uint64_t*>(base + entry.offsets[k]) ^ entry.values[k];
        }
        if (difference != 0) {
            return false;
        }
    }
    return true;
}

uint32_t StackMemo::find(const Registers& start, uint64_t hash, uint64_t epoch) const {
    const size_t first = first_way(hash);
    const uint32_t wanted = tag(hash);
    for (size_t i = first; i < first + kWays; ++i) {
        if (tags_[i] != wanted) {
            continue;
        }
        const Entry& entry = entries_[i];
        if (entry.start.cfa == start.cfa && entry.start.return_address == start.return_address &&
            (!entry.rbp_is_live || entry.start.rbp == start.rbp) && entry.epoch == epoch &&
            words_hold(entry)) {
            return entry.node;
        }
    }
    return 0;
}

bool StackMemo::add_word(Entry& entry, uint64_t slot, uint64_t value) {
    const uint64_t offset = slot - entry.start.cfa;
    if (entry.word_count == kMaxWords || offset > UINT32_MAX) {
        return false;
    }
    entry.offsets[entry.word_count] = static_cast<uint32_t>(offset);
    entry.values[entry.word_count] = value;
    ++entry.word_count;
    return true;
}

// See Note [Why a memo may be believed]. Outermost first, because whether rbp is live depends on
// the frames further out.
bool StackMemo::fill(Entry& entry, const Registers& start, const Walk& walk) {
    bool is_live[kMaxNativeFrames + 1];
    is_live[walk.exit_count] = false;
    for (size_t i = walk.exit_count; i-- > 0;) {
        const RbpUse use = walk.exits[i].rbp_use;
        is_live[i] = use == RbpUse::kForCfa || (use == RbpUse::kKept && is_live[i + 1]);
    }
    entry.start = start;
    entry.rbp_is_live = is_live[0];
    entry.word_count = 0;
    for (size_t i = 0; i < walk.exit_count; ++i) {
        const FrameExit& exit = walk.exits[i];
        if ((exit.cfa_slot != 0 && !add_word(entry, exit.cfa_slot, exit.cfa)) ||
            !add_word(entry, exit.cfa - 8, exit.return_address) ||
            (exit.rbp_slot != 0 && is_live[i + 1] && !add_word(entry, exit.rbp_slot, exit.rbp))) {
            return false;
        }
    }
    while (entry.word_count % kChunk != 0) {  // repeats the first word: no odd end to check
        add_word(entry, start.cfa + entry.offsets[0], entry.values[0]);
    }
    return entry.word_count > 0;
}

bool StackMemo::keep(const Registers& start,
                     uint64_t hash,
                     uint64_t epoch,
                     const Walk& walk,
                     uint32_t node,
                     Keep how) {
    const size_t first = first_way(hash);
    const auto is_free = [&](size_t i) { return tags_[i] == 0 || entries_[i].epoch != epoch; };
    size_t chosen = first;
    while (chosen < first + kWays && !is_free(chosen)) {
        ++chosen;
    }
    if (chosen == first + kWays) {
        if (how == Keep::kIfRoom) {
            return false;
        }
        chosen = first + next_victim_++ % kWays;
    }
    tags_[chosen] = 0;
    Entry& entry = entries_[chosen];
    if (!fill(entry, start, walk)) {
        return true;  // too large for any place
    }
    entry.epoch = epoch;
    entry.node = node;
    tags_[chosen] = tag(hash);
    return true;
}

}  // namespace peakline::capture
