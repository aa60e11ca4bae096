// The effect of a single AES round on a difference: for tests that two rounds are needed.
#pragma once

#include <immintrin.h>

#include "allocator/capture/memo/aes_rounds.h"

inline constexpr const char* kNoAes = "SKIP: this processor has no AES instructions";

[[PEAKLINE_USES_AES]] inline __m128i one_round(__m128i hash) {
    return _mm_aesenc_si128(hash, _mm_setzero_si128());
}

// Returns the difference after one round of two hashes that differ by `changed`.
[[PEAKLINE_USES_AES]] inline __m128i after_one_round(__m128i hash, __m128i changed) {
    return _mm_xor_si128(one_round(hash), one_round(_mm_xor_si128(hash, changed)));
}
