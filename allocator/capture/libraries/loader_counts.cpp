// _rtld_global is the loader's data. It begins with the first namespace: its list of libraries, and
// their number. The number of all libraries ever added follows at an offset that differs between
// versions: it is the only word that has the right value at every check.
#include "loader_counts.h"

#include <bitset>
#include <cstddef>

#include <dlfcn.h>
#include <link.h>

#include "allocator/record/hot_data.h"

namespace peakline::capture {

[[PEAKLINE_HOT_DATA]] constinit std::atomic<const uint64_t*> g_libraries_added{&kUnknownLibraries};

namespace {

constexpr size_t kMaxWords = 1024;  // some 540 in glibc 2.36
constexpr size_t kPresentWord = 1;  // of the first namespace; follows the head of its list

// Guarded by the loader's lock, except the first two, which find_loader_words_slow writes first.
const uint64_t* g_words = nullptr;
size_t g_word_count = 0;
std::bitset<kMaxWords> g_may_be_added;

const uint64_t* only_candidate() {
    if (g_may_be_added.count() != 1) {
        return nullptr;
    }
    size_t word = 0;
    while (!g_may_be_added[word]) {
        ++word;
    }
    return g_words + word;
}

}  // namespace

void find_loader_words_slow() {
    if (g_words != nullptr) {
        return;
    }
    void* data = dlsym(RTLD_DEFAULT, "_rtld_global");
    Dl_info library{};
    ElfW(Sym)* symbol = nullptr;
    if (data == nullptr ||
        dladdr1(data, &library, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 ||
        symbol == nullptr) {
        return;
    }
    const auto* words = static_cast<const uint64_t*>(data);
    g_word_count = symbol->st_size / sizeof(uint64_t);
    if (g_word_count <= kPresentWord || g_word_count > kMaxWords ||
        words[0] != reinterpret_cast<uint64_t>(_r_debug.r_map)) {
        return;
    }
    for (size_t i = kPresentWord + 1; i < g_word_count; ++i) {
        g_may_be_added.set(i);
    }
    g_libraries_present = reinterpret_cast<const uint32_t*>(words + kPresentWord);
    g_words = words;
}

void confirm_loader_words(uint64_t added, uint64_t removed) {
    if (g_words == nullptr) {
        return;
    }
    for (size_t i = 0; i < g_word_count; ++i) {
        if (g_may_be_added[i] && __atomic_load_n(g_words + i, __ATOMIC_RELAXED) != added) {
            g_may_be_added.reset(i);
        }
    }
    // Libraries in another namespace (dlmopen) are added and removed unseen.
    const bool is_one_namespace = *g_libraries_present == added - removed;
    const uint64_t* word = is_one_namespace ? only_candidate() : nullptr;
    // release: the words were found before this store.
    g_libraries_added.store(word != nullptr ? word : &kUnknownLibraries, std::memory_order_release);
}

}  // namespace peakline::capture
