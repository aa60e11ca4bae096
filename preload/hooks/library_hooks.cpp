#include "library_hooks.h"

#include <cstring>

#include "allocator/capture/libraries/got_patch.h"
#include "allocator/record/hot_data.h"

namespace peakline::preload {

[[PEAKLINE_HOT_DATA]] std::atomic<uint64_t> g_hooked_libraries{capture::kUnknownLibraries};

namespace {

struct LibraryHook {
    const char* symbol;
    void* replacement;
};
// Written only while recording is set up.
LibraryHook g_hooks[kMostLibraryHooks];
size_t g_hook_count = 0;

void lead_to_hook(const capture::Import& import, void*) {
    for (size_t i = 0; i < g_hook_count; ++i) {
        const LibraryHook& hook = g_hooks[i];
        if (strcmp(import.symbol, hook.symbol) == 0 && *import.slot != hook.replacement) {
            import.lead_to(hook.replacement);
        }
    }
}

}  // namespace

void add_library_hook(const char* symbol, void* replacement) {
    for (size_t i = 0; i < g_hook_count; ++i) {
        if (g_hooks[i].replacement == replacement) {
            return;
        }
    }
    if (g_hook_count < kMostLibraryHooks) {
        g_hooks[g_hook_count++] = {symbol, replacement};
    }
}

void hook_all_libraries_slow() {
    // Read before the scan: libraries loaded meanwhile get another count.
    const uint64_t added = capture::libraries_added();
    for (size_t i = 0; i < g_hook_count; ++i) {
        capture::redirect_imports(g_hooks[i].symbol, "", g_hooks[i].replacement);
    }
    g_hooked_libraries.store(added, std::memory_order_relaxed);
}

// Two threads that run this at once do the same work.
void hook_new_libraries_slow() {
    const uint64_t added = capture::libraries_added();
    const uint64_t hooked = g_hooked_libraries.load(std::memory_order_relaxed);
    if (added == capture::kUnknownLibraries || added == hooked) {
        return;
    }
    if (hooked == capture::kUnknownLibraries || added < hooked) {
        hook_all_libraries_slow();
        return;
    }
    capture::for_each_import_of_newest(added - hooked, lead_to_hook, nullptr);
    g_hooked_libraries.store(added, std::memory_order_relaxed);
}

}  // namespace peakline::preload
