// The frame walk, compiled once per CPython version so that every offset is a constant. See Note
// [Walking without the GIL] in frame_walker.h.
#include "frame_walker.h"

#include "allocator/record/tables/hash_keys.h"
#include "frame_reads.h"

namespace peakline::pyhook {
namespace {

__extension__ using Uint128 = unsigned __int128;

uint64_t watched_at(unsigned slot) {
    return g_watched_methods.codes[slot % kWatchedSlots].load(std::memory_order_relaxed);
}

[[gnu::noinline, gnu::cold]] bool is_watched_further_slow(uint64_t code) {
    for (unsigned slot = watched_slot(code) + 1; watched_at(slot) != 0; ++slot) {
        if (watched_at(slot) == code) {
            return true;
        }
    }
    return false;
}

// Whether stacks include the first local variable of this code's frames.
[[gnu::always_inline]] inline bool is_watched(uint64_t code) {
    const uint64_t watched = watched_at(watched_slot(code));
    return __builtin_expect(watched != 0, 0) && (watched == code || is_watched_further_slow(code));
}

template <const PythonLayout& kLayout>
size_t walk(const void* thread, RawFrame* out, size_t capacity, bool* truncated) {
    const void* frame = innermost_frame<kLayout>(thread);
    RawFrame* at = out;
    for (size_t i = 0; i < capacity && frame != nullptr; ++i) {
        const RawFrame raw = read_frame<kLayout>(frame);
        *at++ = raw;
        if (is_watched(raw.code)) {
            *at++ = {kInstanceMark, read_first_local<kLayout>(frame)};
        }
        frame = caller_of<kLayout>(frame);
    }
    *truncated = frame != nullptr;
    return static_cast<size_t>(at - out);
}

// Keys for both words of every frame of 3.10, and one for each instance.
static_assert(3 * kMaxFrames <= record::kHashKeyCount);

// Accumulates the sum of Note [Hash of a stack], in registers.
template <const PythonLayout& kLayout>
class Hasher {
public:
    // The next frame's word, plus its key.
    [[gnu::always_inline]] uint64_t word_of(const void* frame) {
        const RawFrame raw = read_frame<kLayout>(frame);
        if (is_watched(raw.code)) {
            const uint64_t* key = keys_ + 2 * kMaxFrames;
            sum_ += static_cast<Uint128>(read_first_local<kLayout>(frame)) * *key;
        }
        return raw.position + *keys_++;
    }
    // The word after the last frame.
    [[gnu::always_inline]] uint64_t no_word() const { return *keys_; }
    [[gnu::always_inline]] void add_pair(uint64_t first, uint64_t second) {
        sum_ += static_cast<Uint128>(first) * second;
    }
    [[gnu::always_inline]] void add_code(const void* frame, uint64_t word) {
        const uint64_t* key = keys_ - 1 + kMaxFrames;
        add_pair(word, read_frame<kLayout>(frame).code + *key);
    }

    bool has_room() const { return keys_ != record::kHashKeys.keys + kMaxFrames; }
    size_t frame_count() const { return static_cast<size_t>(keys_ - record::kHashKeys.keys); }
    Uint128 sum() const { return sum_; }

private:
    Uint128 sum_ = 0;
    const uint64_t* keys_ = record::kHashKeys.keys;
};

template <const PythonLayout& kLayout>
HashedWalk hash_walk(const void* thread) {
    Hasher<kLayout> hasher;
    const void* frame = innermost_frame<kLayout>(thread);
    while (frame != nullptr && hasher.has_room()) {
        const uint64_t first = hasher.word_of(frame);
        if constexpr (kLayout.position_is_index) {
            hasher.add_code(frame, first);
            frame = caller_of<kLayout>(frame);
            continue;
        }
        frame = caller_of<kLayout>(frame);
        if (frame == nullptr) {
            hasher.add_pair(first, hasher.no_word());
            break;
        }
        hasher.add_pair(first, hasher.word_of(frame));
        frame = caller_of<kLayout>(frame);
    }
    return {static_cast<uint64_t>(hasher.sum()),
            static_cast<uint64_t>(hasher.sum() >> 64U),
            static_cast<uint32_t>(hasher.frame_count()),
            frame != nullptr};
}

}  // namespace

constinit WatchedMethods g_watched_methods{};

Walkers walkers_for(const PythonLayout& layout) {
    return made_for(layout, []<const PythonLayout & kLayout>() {
        return Walkers{walk<kLayout>, hash_walk<kLayout>};
    });
}

}  // namespace peakline::pyhook
