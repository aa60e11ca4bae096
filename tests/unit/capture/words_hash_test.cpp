// Both hashes of words on a stack, against lists of the words themselves.
#include "allocator/capture/words_hash.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

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
        // The same words the other way round, in pairs and in fours, are others.
        std::swap(stack[offsets[0]], stack[offsets[count - 2]]);
        std::swap(stack[offsets[1]], stack[offsets[count - 1]]);
        const bool is_other = stack[offsets[0]] != words[0] || stack[offsets[1]] != words[1];
        const WordsHash swapped =
            hash(reinterpret_cast<uint64_t>(stack.data()), offsets.data(), count);
        REQUIRE((swapped != found) == is_other);
    }
    REQUIRE(hashes.size() > 10000);
}

}  // namespace

TEST_CASE("other words on a stack have another hash", "[capture]") {
    check(hash_words_by_products);
    if (has_aes()) {
        check(hash_words_by_rounds);
    }
}
