// The frame walk, compiled once per CPython version so that every offset is a constant.
// See Note [Walking without the GIL] in frame_walker.h.
#include "frame_walker.h"

#include "allocator/capture/aes_rounds.h"
#include "allocator/capture/words_hash.h"
#include "allocator/record/hash_keys.h"

namespace peakline::pyhook {
namespace {

// From 3.12 on a frame with this owner or above stands for C code between Python frames
// (FRAME_OWNED_BY_CSTACK, _INTERPRETER, _THREAD_STATE): it has no line of its own.
constexpr uint8_t kFirstShimOwner = 3;

__extension__ using Uint128 = unsigned __int128;

template <const PythonLayout& kLayout>
const void* top_frame(const void* thread) {
    const void* holder = read_at<const void*>(thread, kLayout.thread_frame);
    if constexpr (kLayout.thread_frame_is_cframe) {
        return holder == nullptr ? nullptr : read_at<const void*>(holder, kLayout.cframe_frame);
    }
    return holder;
}

template <const PythonLayout& kLayout>
RawFrame read_frame(const void* frame) {
    const uint64_t code = read_at<uint64_t>(frame, kLayout.frame_code) & kLayout.code_mask;
    if constexpr (kLayout.position_is_index) {
        const int64_t index = read_at<int32_t>(frame, kLayout.frame_position);
        return {code, static_cast<uint64_t>(index)};
    }
    return {code, read_at<uint64_t>(frame, kLayout.frame_position)};
}

template <const PythonLayout& kLayout>
uint64_t read_first_local(const void* frame) {
    return read_at<uint64_t>(frame, kLayout.frame_locals) & kLayout.code_mask;
}

template <const PythonLayout& kLayout>
bool is_shim(const void* frame) {
    if constexpr (kLayout.frame_owner != 0) {
        return read_at<uint8_t>(frame, kLayout.frame_owner) >= kFirstShimOwner;
    }
    return false;
}

uint64_t watched_at(unsigned place) {
    return g_watched_methods.codes[place % kWatchedPlaces].load(std::memory_order_relaxed);
}

[[gnu::noinline, gnu::cold]] bool is_watched_further_slow(uint64_t code) {
    for (unsigned place = watched_place(code) + 1; watched_at(place) != 0; ++place) {
        if (watched_at(place) == code) {
            return true;
        }
    }
    return false;
}

// Whether the frames of `code` tell their first local variable.
[[gnu::always_inline]] inline bool is_watched(uint64_t code) {
    const uint64_t watched = watched_at(watched_place(code));
    return __builtin_expect(watched != 0, 0) && (watched == code || is_watched_further_slow(code));
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* skip_shims(const void* frame) {
    while (frame != nullptr && is_shim<kLayout>(frame)) {
        frame = read_at<const void*>(frame, kLayout.frame_previous);
    }
    return frame;
}

template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* caller_of(const void* frame) {
    return skip_shims<kLayout>(read_at<const void*>(frame, kLayout.frame_previous));
}

// The innermost frame of this thread, nullptr without one.
template <const PythonLayout& kLayout>
[[gnu::always_inline]] inline const void* innermost_frame(const void* thread) {
    return thread == nullptr ? nullptr : skip_shims<kLayout>(top_frame<kLayout>(thread));
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

// The sum of Note [Hash of a stack] while it is made; all in registers.
template <const PythonLayout& kLayout>
class Hasher {
public:
    // The next frame's word, with its key.
    [[gnu::always_inline]] uint64_t word_of(const void* frame) {
        const RawFrame raw = read_frame<kLayout>(frame);
        if (is_watched(raw.code)) {
            const uint64_t* key = keys_ + 2 * kMaxFrames;
            sum_ += static_cast<Uint128>(read_first_local<kLayout>(frame)) * *key;
        }
        return raw.position + *keys_++;
    }
    // For the place behind the last frame.
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

template <const PythonLayout& kLayout>
[[PEAKLINE_USES_AES, gnu::always_inline]] inline __m128i known_word(const void* frame,
                                                                    uint64_t has_instance) {
    const auto position = _mm_cvtsi64_si128(read_at<long long>(frame, kLayout.frame_position));
    if (has_instance == 0) {
        return position;
    }
    const uint64_t object = read_first_local<kLayout>(frame);
    return _mm_insert_epi64(position, static_cast<long long>(object), 1);
}

template <const PythonLayout& kLayout>
[[PEAKLINE_USES_AES, gnu::hot]] bool is_stack(const void* thread, const KnownFrames& known) {
    auto marks = static_cast<Uint128>(known.has_instance[1]) << 64U | known.has_instance[0];
    __m128i even = _mm_setzero_si128();
    __m128i odd = capture::absorb(even, even);
    const void* frame = innermost_frame<kLayout>(thread);
    for (; frame != nullptr; frame = caller_of<kLayout>(frame), marks >>= 2U) {
        const auto two = static_cast<uint64_t>(marks);
        even = capture::absorb(even, known_word<kLayout>(frame, two & 1U));
        frame = caller_of<kLayout>(frame);
        if (frame == nullptr) {
            break;
        }
        odd = capture::absorb(odd, known_word<kLayout>(frame, two & 2U));
    }
    const __m128i hash = capture::absorb(even, odd);
    return static_cast<uint64_t>(_mm_cvtsi128_si64(hash)) == known.low &&
           static_cast<uint64_t>(_mm_extract_epi64(hash, 1)) == known.high;
}

bool is_never_known(const void*, const KnownFrames&) {
    return false;
}

template <const PythonLayout& kLayout>
constexpr Comparer comparer() {
    return kLayout.position_is_index ? is_never_known : is_stack<kLayout>;
}

template <const PythonLayout& kLayout>
constexpr Walkers kWalkers{walk<kLayout>, hash_walk<kLayout>, comparer<kLayout>()};

}  // namespace

constinit WatchedMethods g_watched_methods{};

namespace {

[[PEAKLINE_USES_AES]] bool know_frames_by_aes(const RawFrame* entries,
                                              size_t count,
                                              KnownFrames* known) {
    *known = KnownFrames{};
    const __m128i zero = _mm_setzero_si128();
    __m128i chains[2] = {zero, capture::absorb(zero, zero)};
    size_t frame_count = 0;
    for (size_t i = 0; i < count; ++i, ++frame_count) {
        if (frame_count == KnownFrames::kMostFrames) {
            return false;
        }
        const auto position = static_cast<long long>(entries[i].position);
        long long object = 0;
        if (i + 1 < count && entries[i + 1].code == kInstanceMark) {
            object = static_cast<long long>(entries[++i].position);
            known->has_instance[frame_count / 64] |= uint64_t{1} << frame_count % 64;
        }
        __m128i& chain = chains[frame_count % 2];
        chain = capture::absorb(chain, _mm_set_epi64x(object, position));
    }
    const __m128i hash = capture::absorb(chains[0], chains[1]);
    known->low = static_cast<uint64_t>(_mm_cvtsi128_si64(hash));
    known->high = static_cast<uint64_t>(_mm_extract_epi64(hash, 1));
    return true;
}

Walkers walkers_of_version(const PythonLayout& layout) {
    switch (layout.minor) {
        case 10:
            return kWalkers<kLayout310>;
        case 11:
            return kWalkers<kLayout311>;
        case 12:
            return kWalkers<kLayout312>;
        case 13:
            return kWalkers<kLayout313>;
        case 14:
            return kWalkers<kLayout314>;
        default:
            return {};
    }
}

}  // namespace

bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known) {
    return capture::has_aes() && know_frames_by_aes(entries, count, known);
}

Walkers walkers_for(const PythonLayout& layout) {
    Walkers walkers = walkers_of_version(layout);
    if (!capture::has_aes()) {
        walkers.is_stack = is_never_known;
    }
    return walkers;
}

}  // namespace peakline::pyhook
