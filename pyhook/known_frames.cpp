// The comparison with a known stack, compiled once per CPython version like the walk itself.
#include "known_frames.h"

#include "allocator/capture/aes_rounds.h"
#include "allocator/capture/words_hash.h"
#include "frame_reads.h"

namespace peakline::pyhook {
namespace {

__extension__ using Uint128 = unsigned __int128;

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

Comparer comparer_of_version(const PythonLayout& layout) {
    switch (layout.minor) {
        case 10:
            return comparer<kLayout310>();
        case 11:
            return comparer<kLayout311>();
        case 12:
            return comparer<kLayout312>();
        case 13:
            return comparer<kLayout313>();
        case 14:
            return comparer<kLayout314>();
        default:
            return nullptr;
    }
}

}  // namespace

bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known) {
    return capture::has_aes() && know_frames_by_aes(entries, count, known);
}

Comparer comparer_for(const PythonLayout& layout) {
    return capture::has_aes() ? comparer_of_version(layout) : is_never_known;
}

}  // namespace peakline::pyhook
