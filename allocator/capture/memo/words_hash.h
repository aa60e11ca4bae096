// A hash of scattered words on a stack, which StackMemo compares.
//
// Note [Hash of the words]
// With the processor's AES instructions it uses four chains of pairs of words (Note [Two rounds] in
// aes_rounds.h), joined at the end. It needs no table of keys, which would miss the cache each
// time. Without these instructions it is the sum of products of hash_keys.h: two lists collide once
// in 2^64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::capture {

__extension__ using WordsHash = unsigned __int128;

// `offsets`: in words from `start`. `count`: a multiple of kWordsAtOnce. Reads the words even if
// the frames there have changed: they must be on this thread's stack.
inline constexpr size_t kWordsAtOnce = 8;
WordsHash hash_words(uint64_t start, const uint16_t* offsets, size_t count);

// Both implementations; the first one needs has_aes().
bool has_aes();
WordsHash hash_words_by_rounds(uint64_t start, const uint16_t* offsets, size_t count);
WordsHash hash_words_by_products(uint64_t start, const uint16_t* offsets, size_t count);

}  // namespace peakline::capture
