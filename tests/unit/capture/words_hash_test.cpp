// Both hashes of words on a stack, against lists of the words themselves.
#include "allocator/capture/memo/words_hash.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "allocator/record/tables/hash_keys.h"
#include "one_round.h"
#include "tests/unit/catching.h"

using namespace peakline::capture;

namespace {

constexpr size_t kPlaces = 256;
using Words = std::vector<uint64_t>;
using Hash = WordsHash (*)(uint64_t, const uint16_t*, size_t);

// Return addresses of few libraries: most of their bytes are alike.
uint64_t random_word(std::mt19937& random) {
    return 0x7F3A00000000 + (uint64_t{random() % 4} << 24U) + 4 * (random() % 16);
}

// Every list of words has one hash, wherever it lies, and no two have the same.
void check(Hash hash) {
    std::mt19937 random(7);
    std::map<Words, WordsHash> hashes;
    std::set<WordsHash> all;
    Words stack(kPlaces);
    for (int i = 0; i < 20000; ++i) {
        const size_t count = kWordsAtOnce * (1 + random() % 4);
        std::vector<uint16_t> offsets;
        Words words;
        for (size_t at = 0; at < count; ++at) {
            offsets.push_back(
                static_cast<uint16_t>(at == 0 ? 0 : offsets.back() + 1 + random() % 9));
            // Few different words for short lists: many of them are neighbours.
            words.push_back(random() % 3 == 0 ? random_word(random) : 0x7F3A00000000 + at);
            stack[offsets.back()] = words.back();
        }
        const WordsHash found =
            hash(reinterpret_cast<uint64_t>(stack.data()), offsets.data(), count);
        const auto [place, is_new] = hashes.emplace(words, found);
        REQUIRE((place->second == found));
        REQUIRE(all.insert(found).second == is_new);
        // The same words the other way round, in pairs and in chains, are others.
        std::swap(stack[offsets[0]], stack[offsets[count - 2]]);
        std::swap(stack[offsets[1]], stack[offsets[count - 1]]);
        const bool is_other = stack[offsets[0]] != words[0] || stack[offsets[1]] != words[1];
        const WordsHash swapped =
            hash(reinterpret_cast<uint64_t>(stack.data()), offsets.data(), count);
        REQUIRE((swapped != found) == is_other);
    }
    REQUIRE(hashes.size() > 10000);
}

// Words of two lists that differ in the lowest byte of one word and, so that a single round would
// make up for it, in the low four bytes of the word eight places on.
[[PEAKLINE_USES_AES]] void check_made_to_collide() {
    const auto* keys = reinterpret_cast<const long long*>(peakline::record::kHashKeys.keys);
    const __m128i start = _mm_set_epi64x(keys[0], keys[1]);
    const uint16_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    std::mt19937 random(9);
    for (int i = 0; i < 1000; ++i) {
        Words stack(std::size(offsets));
        std::generate(stack.begin(), stack.end(), [&] { return random_word(random); });
        const auto one =
            hash_words_by_rounds(reinterpret_cast<uint64_t>(stack.data()), offsets, stack.size());
        const __m128i first =
            _mm_set_epi64x(static_cast<long long>(stack[1]), static_cast<long long>(stack[0]));
        const __m128i changed = _mm_cvtsi64_si128(4 * (1 + i % 60));
        const __m128i sum = _mm_aesenc_si128(start, first);
        const __m128i difference = after_one_round(sum, changed);
        REQUIRE(_mm_extract_epi64(difference, 1) == 0);
        REQUIRE(static_cast<uint64_t>(_mm_cvtsi128_si64(difference)) >> 32U == 0);
        stack[0] ^= static_cast<uint64_t>(_mm_cvtsi128_si64(changed));
        stack[8] ^= static_cast<uint64_t>(_mm_cvtsi128_si64(difference));
        const auto other =
            hash_words_by_rounds(reinterpret_cast<uint64_t>(stack.data()), offsets, stack.size());
        REQUIRE((one != other));
    }
}

}  // namespace

TEST_CASE("a call from elsewhere in a function and its caller's do not make up for each other",
          "[capture]") {
    if (!has_aes()) {
        WARN(kNoAes);
        return;
    }
    check_made_to_collide();
}

TEST_CASE("other words on a stack have another hash", "[capture]") {
    check(hash_words_by_products);
    if (!has_aes()) {
        WARN(kNoAes);
        return;
    }
    check(hash_words_by_rounds);
}
