// A hash of words that lie scattered on a stack: what StackMemo compares with.
//
// Note [Hash of the words]
// With the processor's AES instructions it takes two chains of two AES rounds for each pair of
// words (round(round(sum)) xor pair), joined at the end. A round is a permutation, so lists that
// differ in one pair never have the same hash. In lists that differ in several the next pair would
// have to make up for the difference that the rounds made of the first one: one round moves a byte
// into four bytes, which the low bytes of one address can be, two rounds move it into all sixteen,
// and two addresses cannot be just these. Nobody chooses return addresses to be alike; for random
// ones two lists collide once in 2^128. It needs no table of keys, whose lines would be cold each
// time. Without these instructions it is the sum of products of hash_keys.h: once in 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::capture {

__extension__ using WordsHash = unsigned __int128;

// `offsets`: in words from `start`. `count`: a multiple of kWordsAtOnce. The words are read
// whatever became of the frames there: they must lie on this thread's stack.
inline constexpr size_t kWordsAtOnce = 4;
WordsHash hash_words(uint64_t start, const uint16_t* offsets, size_t count);

// The two ways; the first where has_aes().
bool has_aes();
WordsHash hash_words_by_rounds(uint64_t start, const uint16_t* offsets, size_t count);
WordsHash hash_words_by_products(uint64_t start, const uint16_t* offsets, size_t count);

}  // namespace peakline::capture
