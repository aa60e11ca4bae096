// One step of the hashes made of AES rounds: of words on a stack, and of Python frames.
//
// Note [Two rounds]
// absorb() is a permutation of the hash, so lists that differ in one word never have the same hash.
// If lists differ in several words, the next word would have to cancel the difference that the
// rounds made of the first one. One round spreads a byte over four bytes, and the low bytes of one
// address could be these; two rounds spread it over all sixteen, and two addresses cannot be
// exactly these. No attacker chooses code addresses; for random ones two lists collide once in
// 2^128.
#pragma once

#include <immintrin.h>

// Only for functions called after a check with has_aes() of words_hash.h.
#define PEAKLINE_USES_AES gnu::target("aes,sse4.1")

namespace peakline::capture {

[[PEAKLINE_USES_AES, gnu::always_inline]] inline __m128i absorb(__m128i hash, __m128i word) {
    return _mm_aesenc_si128(_mm_aesenc_si128(hash, _mm_setzero_si128()), word);
}

}  // namespace peakline::capture
