#include "words_hash.h"

#include "aes_rounds.h"
#include "allocator/record/hot_data.h"
#include "allocator/record/tables/hash_keys.h"

// AddressSanitizer would require all words in one variable.
#define PEAKLINE_READS_STACK gnu::no_sanitize("address")

namespace peakline::capture {
namespace {

constexpr size_t kChains = 4;
static_assert(kWordsAtOnce == 2 * kChains);

bool ask_processor() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("sse4.1") != 0;
}

[[PEAKLINE_HOT_DATA]] const bool g_has_aes = ask_processor();

}  // namespace

bool has_aes() {
    return g_has_aes;
}

// Reads without a helper function, twice: the sanitizer would instrument the function.
[[PEAKLINE_READS_STACK, PEAKLINE_USES_AES, gnu::hot]] WordsHash hash_words_by_rounds(
    uint64_t start, const uint16_t* offsets, size_t count) {
    const auto* words = reinterpret_cast<const long long*>(start);
    const auto* keys = reinterpret_cast<const long long*>(record::kHashKeys.keys);
    __m128i chains[kChains];
#pragma GCC unroll 4
    for (size_t i = 0; i < kChains; ++i) {
        chains[i] = _mm_set_epi64x(keys[2 * i], keys[2 * i + 1]);
    }
    for (const uint16_t* const end = offsets + count; offsets != end; offsets += kWordsAtOnce) {
#pragma GCC unroll 4
        for (size_t i = 0; i < kChains; ++i) {
            const auto first = _mm_cvtsi64_si128(words[offsets[2 * i]]);
            chains[i] = absorb(chains[i], _mm_insert_epi64(first, words[offsets[2 * i + 1]], 1));
        }
    }
    const auto joined = absorb(absorb(chains[0], chains[1]), absorb(chains[2], chains[3]));
    return static_cast<WordsHash>(static_cast<uint64_t>(_mm_extract_epi64(joined, 1))) << 64U |
           static_cast<uint64_t>(_mm_cvtsi128_si64(joined));
}

[[PEAKLINE_READS_STACK]] WordsHash hash_words_by_products(uint64_t start,
                                                          const uint16_t* offsets,
                                                          size_t count) {
    const auto* words = reinterpret_cast<const uint64_t*>(start);
    WordsHash sum = 0;
    for (size_t i = 0; i < count; i += 2) {
        const uint64_t* keys = &record::kHashKeys.keys[i];
        sum +=
            static_cast<WordsHash>(words[offsets[i]] + keys[0]) * (words[offsets[i + 1]] + keys[1]);
    }
    return sum;
}

WordsHash hash_words(uint64_t start, const uint16_t* offsets, size_t count) {
    return __builtin_expect(g_has_aes, 1) ? hash_words_by_rounds(start, offsets, count)
                                          : hash_words_by_products(start, offsets, count);
}

}  // namespace peakline::capture
