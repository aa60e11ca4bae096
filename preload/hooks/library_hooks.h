// Functions of torch whose calls are led to ours in every library that imports them.
//
// Note [Libraries loaded later]
// An extension may be loaded at any time, by import or by dlopen, and call torch from then on. The
// loader's count says at each allocation and each node that autograd makes, without a call, that
// there is another library; the new ones are then scanned, and only these: programs that compile
// kernels load hundreds. What a library calls between being loaded and then is not seen.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/capture/libraries/loader_counts.h"

namespace peakline::preload {

// Adds a function, at most kMostLibraryHooks; a second time it does nothing.
inline constexpr size_t kMostLibraryHooks = 8;
void add_library_hook(const char* symbol, void* replacement);

// Leads the calls of all loaded libraries to those added. Takes the loader's lock.
void hook_all_libraries_slow();
void hook_new_libraries_slow();

// libraries_added() before they were hooked last. relaxed: compared with a count that only grows.
extern std::atomic<uint64_t> g_hooked_libraries;

// Where no lock of torch is held.
inline void hook_new_libraries_if_due() {
    if (g_hooked_libraries.load(std::memory_order_relaxed) != capture::libraries_added())
        [[unlikely]] {
        hook_new_libraries_slow();
    }
}

}  // namespace peakline::preload
