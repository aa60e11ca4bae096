// Makes torch bypass the recorder and use it again, for bench_events.py and bench_instructions.py:
// steps with and without it then alternate in one process. Another process is a few per cent faster
// or slower for all its life, because of its addresses in memory, and that is more than the cost of
// recording.
//
// It finds every import of torch that leads into a library of peakline and lists none here, so it
// also measures later hooks. The recorder counts blocks that come and go unseen as unknown frees
// and lost addresses; a step or two later its state is as before.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include <dlfcn.h>
#include <link.h>

#include "allocator/capture/libraries/got_patch.h"

namespace {

using peakline::capture::find_in_loaded;
using peakline::capture::holds;
using peakline::capture::Import;

struct Hooked {
    dl_phdr_info library;
    Import import;
    void* hook;
    void* real;
};

// std::atomic<c10::cuda::CUDACachingAllocator::CUDAAllocator*>, torch's current allocator.
constexpr char kAllocatorSymbol[] = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";

std::vector<Hooked> g_hooked;
std::vector<dl_phdr_info> g_peaklines;
void* g_torchs_allocator = nullptr;
void* g_our_allocator = nullptr;

std::atomic<void*>* allocator_slot() {
    return static_cast<std::atomic<void*>*>(find_in_loaded("libc10_cuda.so", kAllocatorSymbol));
}

void* find_real(const char* symbol) {
    for (const char* library :
         {"libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so"}) {
        if (void* found = find_in_loaded(library, symbol)) {
            return found;
        }
    }
    return nullptr;
}

int add_if_peaklines(dl_phdr_info* library, size_t, void*) {
    if (strstr(library->dlpi_name, "libpeakline") != nullptr) {
        g_peaklines.push_back(*library);
    }
    return 0;
}

// dladdr would look for a symbol among all of torch's, a millisecond for each import.
bool is_of_peakline(const void* function) {
    return std::any_of(g_peaklines.begin(), g_peaklines.end(), [&](const dl_phdr_info& library) {
        return holds(&library, PT_LOAD, function);
    });
}

void find_hook(const Import& import, void*) {
    void* const target = *import.slot;
    void* const real = is_of_peakline(target) ? find_real(import.symbol) : nullptr;
    if (real != nullptr) {
        g_hooked.push_back({*import.library, import, target, real});
    }
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// Before CUDA is initialised. Returns 0 when torch's allocator is not found.
EXPORT int recording_switch_before_cuda() {
    std::atomic<void*>* const slot = allocator_slot();
    g_torchs_allocator = slot != nullptr ? slot->load() : nullptr;
    return g_torchs_allocator != nullptr ? 1 : 0;
}

// Once recording is on and the program is warm. Returns the number of hooked imports.
EXPORT int recording_switch_find() {
    g_our_allocator = allocator_slot()->load();
    dl_iterate_phdr(add_if_peaklines, nullptr);
    peakline::capture::for_each_import("", find_hook, nullptr);
    for (Hooked& hooked : g_hooked) {
        hooked.import.library = &hooked.library;
    }
    return static_cast<int>(g_hooked.size());
}

EXPORT void recording_switch(int on) {
    for (const Hooked& hooked : g_hooked) {
        hooked.import.lead_to(on != 0 ? hooked.hook : hooked.real);
    }
    allocator_slot()->store(on != 0 ? g_our_allocator : g_torchs_allocator);
}
