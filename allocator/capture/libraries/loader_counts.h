// The number of libraries that the loader has added, read without a call by every capture.
// dl_iterate_phdr confirms the loader's words; until then, or if they differ from its numbers, the
// count is unknown. See Note [Code that changes] in unwind_rules.h.
#pragma once

#include <atomic>
#include <cstdint>

namespace peakline::capture {

inline constexpr uint64_t kUnknownLibraries = 0;

// The loader's own word, or kUnknownLibraries. Written only within dl_iterate_phdr, which admits
// one thread at a time.
extern std::atomic<const uint64_t*> g_libraries_added;
// The number of libraries still loaded. Written once, before the word above points to the loader.
inline const uint32_t* g_libraries_present = nullptr;

// Libraries loaded since the program began, or kUnknownLibraries.
inline uint64_t libraries_added() {
    // acquire: g_libraries_present was written before. relaxed: a thread that runs code of a new
    // library has synchronised with the thread that loaded it, so it sees its count.
    return __atomic_load_n(g_libraries_added.load(std::memory_order_acquire), __ATOMIC_RELAXED);
}

// Whether the loader has removed this many libraries.
inline bool are_libraries_removed(uint64_t count) {
    const uint64_t added = libraries_added();
    return added != kUnknownLibraries &&
           added - __atomic_load_n(g_libraries_present, __ATOMIC_RELAXED) == count;
}

// Finds the loader's data. Called once, during the setup of recording; takes the loader's lock.
void find_loader_words_slow();

// Called within dl_iterate_phdr, whose lock keeps the counts unchanged, with its numbers: libraries
// added and removed since the program began.
void confirm_loader_words(uint64_t added, uint64_t removed);

}  // namespace peakline::capture
