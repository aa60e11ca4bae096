#include "stack_memo.h"

#include "allocator/record/tables/hash_keys.h"
#include "allocator/record/tables/mix64.h"

namespace peakline::capture {

static_assert(StackMemo::kMaxWords <= record::kHashKeyCount);

bool StackMemo::init(size_t set_count) {
    const size_t ways = set_count * kWays;
    if (!tags_.reserve(ways) || !tags_.resize_untouched(ways) || !numbers_.reserve(ways) ||
        !numbers_.resize_untouched(ways) || !entries_.reserve(ways + 1) ||
        !entries_.resize_untouched(1)) {
        return false;
    }
    set_mask_ = set_count - 1;
    return true;
}

void StackMemo::clear() {
    for (size_t i = 0; i < tags_.size(); ++i) {
        if (tags_[i] != 0) {
            tags_[i] = entry_of(static_cast<uint32_t>(i)).node = 0;
        }
    }
}

uint64_t StackMemo::hash(const Registers& start, uint64_t hint) {
    return record::mix64(record::mix64(record::mix64(start.cfa) ^ hint) ^ start.return_address);
}

[[gnu::hot]] bool StackMemo::holds(const Entry& entry, const Registers& start, uint64_t epoch) {
    return entry.start.cfa == start.cfa && entry.start.return_address == start.return_address &&
           (!entry.rbp_is_live || entry.start.rbp == start.rbp) && entry.epoch == epoch &&
           hash_words(start.cfa, entry.offsets, entry.word_count) == entry.words_hash;
}

uint32_t StackMemo::find(const Registers& start,
                         uint64_t hash,
                         uint64_t epoch,
                         uint32_t* number) const {
    const uint32_t first = first_way(hash);
    const uint32_t wanted = tag(hash);
    for (uint32_t i = first; i < first + kWays; ++i) {
        if (tags_[i] == wanted && holds(entry_of(i), start, epoch)) {
            *number = numbers_[i];
            return entry_of(i).node;
        }
    }
    return 0;
}

bool StackMemo::add_word(Entry& entry, uint64_t slot) {
    const uint64_t offset = (slot - entry.start.cfa) / 8;
    if (entry.word_count == kMaxWords || offset > UINT16_MAX || slot % 8 != 0) {
        return false;
    }
    entry.offsets[entry.word_count++] = static_cast<uint16_t>(offset);
    return true;
}

// See Note [Why a memo may be believed]. Goes from the outermost frame inwards, because the frames
// further out decide whether rbp is live.
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
        if ((exit.cfa_slot != 0 && !add_word(entry, exit.cfa_slot)) ||
            !add_word(entry, exit.cfa - 8) ||
            (exit.rbp_slot != 0 && is_live[i + 1] && !add_word(entry, exit.rbp_slot))) {
            return false;
        }
    }
    while (entry.word_count % kWordsAtOnce !=
           0) {  // pads with the first word, so that the hash loop has no tail
        entry.offsets[entry.word_count++] = entry.offsets[0];
    }
    entry.words_hash = hash_words(start.cfa, entry.offsets, entry.word_count);
    return entry.word_count > 0;
}

uint32_t StackMemo::give_entry(uint32_t way) {
    if (numbers_[way] == 0) {
        numbers_[way] = static_cast<uint32_t>(entries_.size());
        entries_.resize_untouched(entries_.size() + 1);
    }
    return numbers_[way];
}

uint32_t StackMemo::keep(const Registers& start,
                         uint64_t hash,
                         uint64_t epoch,
                         const Walk& walk,
                         uint32_t node,
                         Keep how) {
    const uint32_t first = first_way(hash);
    const auto is_free = [&](uint32_t i) { return tags_[i] == 0 || entry_of(i).epoch != epoch; };
    uint32_t chosen = first;
    while (chosen < first + kWays && !is_free(chosen)) {
        ++chosen;
    }
    if (chosen == first + kWays) {
        if (how == Keep::kIfRoom) {
            return 0;
        }
        chosen = first + next_victim_++ % kWays;
    }
    const uint32_t number = give_entry(chosen);
    Entry& entry = entries_[number];
    tags_[chosen] = entry.node = 0;
    if (!fill(entry, start, walk)) {
        return number;  // too large for any entry
    }
    entry.epoch = epoch;
    entry.node = node;
    tags_[chosen] = tag(hash);
    return number;
}

}  // namespace peakline::capture
