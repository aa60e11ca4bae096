// The comparison with a known stack, compiled once per CPython version like the walk itself.
#include "known_frames.h"

#include "allocator/capture/memo/aes_rounds.h"
#include "allocator/capture/memo/words_hash.h"
#include "allocator/record/opaque.h"
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

// Four chains that take turns.
struct Chains {
    __m128i next, second, third, last;
};

// They begin differently: else two frames of different chains might change places. Without a table,
// whose line would be cold; all bytes of each are equal, as those of two addresses never differ.
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

// From the innermost frame outwards; all of it in registers. A slot is that of LastFrames
// for the frame that is compared.
template <const PythonLayout& kLayout>
class Comparison {
public:
    // `innermost`: of a stack that has one, as `known` has.
    [[PEAKLINE_USES_AES, gnu::always_inline]] Comparison(const void* innermost,
                                                         const KnownFrames& known,
                                                         LastFrames& last)
        : frame_(innermost),
          slot_(&last.at[known.frame_count]),
          first_slot_(slot_),
          last_moved_(slot_),
          marks_(known.marks[0]),
          later_marks_(known.marks[1]) {
        *slot_ = innermost;
    }

    bool is_over() const { return frame_ == nullptr; }
    // Callers from the innermost one to the last that was not where it had been.
    uint32_t moved_count() const { return static_cast<uint32_t>(first_slot_ - last_moved_); }
    [[PEAKLINE_USES_AES, gnu::always_inline]] __m128i hash() const { return joined(chains_); }

    // Follows callers to the frame of `slot`, not nullptr's. False: there are fewer.
    [[PEAKLINE_USES_AES, gnu::always_inline]] bool follow(const void* const* slot) {
        while (slot_ > slot) {
            const void* const caller = absorb_frame();
            if (caller == nullptr) {
                return false;
            }
            --slot_;
            last_moved_ = caller != *slot_ ? slot_ : last_moved_;
            *slot_ = frame_ = caller;
        }
        return true;
    }

    // Goes on where callers lay the last time, up to the first that moved. False: there are fewer
    // frames, or more, than to `end`, the slot of nullptr.
    [[PEAKLINE_USES_AES, gnu::always_inline]] bool follow_predicted(const void* const* end) {
        while (frame_ != nullptr) {
            const void* const caller = absorb_frame();
            const void* const predicted = *--slot_;
            const void* const next = record::opaque(predicted);
            if (__builtin_expect(caller != predicted, 0)) {
                last_moved_ = slot_;
                return slot_ != end && (*slot_ = frame_ = caller) != nullptr;
            }
            frame_ = next;
        }
        return slot_ == end;
    }

private:
    // Returns the caller.
    [[PEAKLINE_USES_AES, gnu::always_inline]] const void* absorb_frame() {
        absorb_next(chains_, known_word<kLayout>(frame_, static_cast<int64_t>(marks_) < 0));
        // The next mark: an addition with carry, where compilers take a double shift, which is slow
        // on some processors.
        asm("add %0, %0\n\tadc %1, %1" : "+r"(later_marks_), "+r"(marks_) : : "cc");
        return caller_of<kLayout>(frame_);
    }

    const void* frame_;
    const void** slot_;
    const void** first_slot_;
    const void** last_moved_;
    uint64_t marks_;
    uint64_t later_marks_;
    Chains chains_ = first_chains();
};

template <const PythonLayout& kLayout>
[[PEAKLINE_USES_AES, gnu::hot]] bool is_stack(const void* thread,
                                              KnownFrames& known,
                                              LastFrames& last) {
    const void* const innermost = innermost_frame<kLayout>(thread);
    if (innermost == nullptr || known.frame_count == 0) {
        return innermost == nullptr && known.frame_count == 0;
    }
    Comparison<kLayout> comparison(innermost, known, last);
    const void* const* followed_to = &last.at[known.frame_count - known.followed_count];
    do {
        if (!comparison.follow(followed_to) || !comparison.follow_predicted(last.at)) {
            return false;
        }
        followed_to = &last.at[1];
    } while (!comparison.is_over());
    if (known.followed_count != comparison.moved_count()) {
        known.followed_count = comparison.moved_count();
    }
    const __m128i hash = comparison.hash();
    return static_cast<uint64_t>(_mm_cvtsi128_si64(hash)) == known.low &&
           static_cast<uint64_t>(_mm_extract_epi64(hash, 1)) == known.high;
}

bool is_never_known(const void*, KnownFrames&, LastFrames&) {
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
