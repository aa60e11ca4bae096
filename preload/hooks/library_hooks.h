// Redirects calls of torch's functions to ours in every library that imports them.
//
// Note [Libraries loaded later]
// An extension may be loaded at any time, by import or by dlopen, and call torch from then on. At
// each allocation and each new autograd node we compare the loader's count of libraries, which
// needs no call. When it has changed, only the new libraries are scanned: programs that compile
// kernels load hundreds. Calls of a library between its load and the scan are missed.
#pragma once

#include <atomic>
#include <cstdint>

#include "allocator/capture/libraries/loader_counts.h"

namespace peakline::preload {

// Adds a function; there may be kMostLibraryHooks. Adding it again does nothing.
inline constexpr size_t kMostLibraryHooks = 8;
void add_library_hook(const char* symbol, void* replacement);

// Redirects the added functions in all loaded libraries. Takes the loader's lock.
void hook_all_libraries_slow();
void hook_new_libraries_slow();

// libraries_added() at the last scan. relaxed: compared with a count that only grows.
extern std::atomic<uint64_t> g_hooked_libraries;

// Call only where no lock of torch is held.
inline void hook_new_libraries_if_due() {
    if (g_hooked_libraries.load(std::memory_order_relaxed) != capture::libraries_added())
        [[unlikely]] {
        hook_new_libraries_slow();
    }
}

}  // namespace peakline::preload
