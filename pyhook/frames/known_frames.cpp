// Compares this thread's frames with a known stack. Compiled once per CPython version, like the
// walk.
#include "known_frames.h"

#include "allocator/capture/memo/aes_rounds.h"
#include "allocator/capture/memo/words_hash.h"
#include "frame_reads.h"

namespace peakline::pyhook {
namespace {

template <const PythonLayout& kLayout>
[[PEAKLINE_USES_AES, gnu::always_inline]] inline __m128i known_word(const void* frame,
                                                                    bool has_instance) {
    const auto position = _mm_cvtsi64_si128(read_at<long long>(frame, kLayout.frame_position));
    if (!has_instance) {
        return position;
    }
    const uint64_t object = read_first_local<kLayout>(frame);
    return _mm_insert_epi64(position, static_cast<long long>(object), 1);
}

// Four interleaved chains.
struct Chains {
    __m128i next, second, third, last;
};

// Chains begin differently, so that frames of different chains cannot be exchanged. Computed
// without a table, which would cost a cache miss. All bytes of each value are equal; two
// addresses never differ by such a value.
[[PEAKLINE_USES_AES, gnu::always_inline]] inline Chains first_chains() {
    const __m128i zero = _mm_setzero_si128();
    const __m128i once = _mm_aesenc_si128(zero, zero);
    const __m128i twice = _mm_aesenc_si128(once, zero);
    return {zero, once, twice, _mm_aesenc_si128(twice, zero)};
}

[[PEAKLINE_USES_AES, gnu::always_inline]] inline void absorb_next(Chains& chains, __m128i word) {
    const __m128i absorbed = capture::absorb(chains.next, word);
    chains = {chains.second, chains.third, chains.last, absorbed};
}

[[PEAKLINE_USES_AES, gnu::always_inline]] inline __m128i joined(const Chains& chains) {
    return capture::absorb(capture::absorb(chains.next, chains.second),
                           capture::absorb(chains.third, chains.last));
}

template <const PythonLayout& kLayout>
[[PEAKLINE_USES_AES, gnu::hot]] bool is_stack(const void* thread, const KnownFrames& known) {
    const void* frame = innermost_frame<kLayout>(thread);
    uint32_t frames_left = known.frame_count;
    if (frame == nullptr || frames_left == 0) {
        return frame == nullptr && frames_left == 0;
    }
    uint64_t marks = known.marks[0];
    uint64_t later_marks = known.marks[1];
    Chains chains = first_chains();
    for (; frame != nullptr; frame = caller_of<kLayout>(frame)) {
        if (frames_left-- == 0) {
            return false;
        }
        absorb_next(chains, known_word<kLayout>(frame, static_cast<int64_t>(marks) < 0));
        // Shifts to the next mark by an addition with carry: compilers would emit a double shift,
        // which is slow on some processors.
        asm("add %0, %0\n\tadc %1, %1" : "+r"(later_marks), "+r"(marks) : : "cc");
    }
    const __m128i hash = joined(chains);
    return frames_left == 0 && static_cast<uint64_t>(_mm_cvtsi128_si64(hash)) == known.low &&
           static_cast<uint64_t>(_mm_extract_epi64(hash, 1)) == known.high;
}

bool is_never_known(const void*, const KnownFrames&) {
    return false;
}

[[PEAKLINE_USES_AES]] bool know_frames_by_aes(const RawFrame* entries,
                                              size_t count,
                                              KnownFrames* known) {
    *known = KnownFrames{};
    Chains chains = first_chains();
    uint32_t frame_count = 0;
    for (size_t i = 0; i < count; ++i, ++frame_count) {
        if (frame_count == KnownFrames::kMostFrames) {
            return false;
        }
        const auto position = static_cast<long long>(entries[i].position);
        long long object = 0;
        if (i + 1 < count && entries[i + 1].code == kInstanceMark) {
            object = static_cast<long long>(entries[++i].position);
            known->marks[frame_count / 64] |= uint64_t{1} << (63 - frame_count % 64);
        }
        absorb_next(chains, _mm_set_epi64x(object, position));
    }
    known->frame_count = frame_count;
    const __m128i hash = joined(chains);
    known->low = static_cast<uint64_t>(_mm_cvtsi128_si64(hash));
    known->high = static_cast<uint64_t>(_mm_extract_epi64(hash, 1));
    return true;
}

}  // namespace

bool know_frames(const RawFrame* entries, size_t count, KnownFrames* known) {
    return capture::has_aes() && know_frames_by_aes(entries, count, known);
}

Comparer comparer_for(const PythonLayout& layout) {
    if (!capture::has_aes()) {
        return is_never_known;
    }
    return made_for(layout, []<const PythonLayout & kLayout>() -> Comparer {
        return kLayout.position_is_index ? is_never_known : is_stack<kLayout>;
    });
}

}  // namespace peakline::pyhook
