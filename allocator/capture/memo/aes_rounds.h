// The step of the hashes that take AES rounds: of words on a stack, and of Python frames.
//
// Note [Two rounds]
// absorb() is a permutation of the hash, so lists that differ in one word never have the same hash.
// In lists that differ in several, the next word would have to make up for the difference that the
// rounds made of the first one: one round moves a byte into four bytes, which the low bytes of one
// address can be, two rounds move it into all sixteen, and two addresses cannot be just these.
// Nobody chooses addresses of code to be alike; for random ones two lists collide once in 2^128.
#pragma once

#include <immintrin.h>

// For functions that are called only where has_aes() of words_hash.h.
#define PEAKLINE_USES_AES gnu::target("aes,sse4.1")

namespace peakline::capture {

[[PEAKLINE_USES_AES, gnu::always_inline]] inline __m128i absorb(__m128i hash, __m128i word) {
    return _mm_aesenc_si128(_mm_aesenc_si128(hash, _mm_setzero_si128()), word);
}

}  // namespace peakline::capture
