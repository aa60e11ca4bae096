// Keeps the open record_function regions until the recorder is loaded. Part of the preloaded
// library: libc only.
//
// Note [Regions before the recording]
// torch keeps no list of open regions, and a region without a callback at its beginning has none at
// its end. So until the recorder is loaded, this file replaces at::getStepCallbacks, from which a
// region gets its callbacks; after that Note [Scopes without an observer] (allocator/torch)
// applies. It uses no class of torch: the result begins with a c10::SmallVector of pairs of
// functions. A result of another form is returned unchanged, and its regions stay unknown.
#include "early_regions.h"

#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr char kStepCallbacksSymbol[] = "_ZN2at16getStepCallbacksENS_11RecordScopeE";
constexpr char kNameSymbol[] = "_ZNK2at14RecordFunction4nameEv";
constexpr uint8_t kUserScope = 7;  // at::RecordScope::USER_SCOPE
constexpr size_t kMaxOpen = 64;    // more regions open at once are not kept

// For a result with a destructor, the caller passes memory in `out`.
using StepCallbacks = void* (*)(void* out, uint8_t scope);
using NameOfRegion = const char* (*)(const void* function);
using StartCallback = void* (*)(void** out_context, const void* function);
using EndCallback = void (*)(const void* function, void* context);

struct Pair {
    StartCallback start;
    EndCallback end;
};
// The beginning of a c10::SmallVector<Pair, 4> that has not grown.
struct SmallVector {
    Pair* begin;
    uint32_t size;
    uint32_t capacity;
    Pair first[4];
};

enum State : uint32_t { kFree, kTaken, kOpen, kBeingRecorded, kRecorded, kEndedWhileRecorded };

struct Region {
    State state;
    const void* function;  // the at::RecordFunction
    PeaklineEarlyRegion facts;
};

// The thread that has taken a slot writes it; `state` publishes it.
Region g_regions[kMaxOpen];
StepCallbacks g_real = nullptr;
NameOfRegion g_name = nullptr;
void (*g_end_region)(const char* name) = nullptr;
bool g_is_recorded = false;

bool change(Region& region, State from, State to) {
    return __atomic_compare_exchange_n(
        &region.state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void* on_begin(void** out_context, const void* function) {
    *out_context = nullptr;
    for (Region& region : g_regions) {
        if (change(region, kFree, kTaken)) {
            timespec now{};
            clock_gettime(CLOCK_MONOTONIC, &now);
            // relaxed: the thread that ends a region began it or synchronised with the one that
            // did.
            __atomic_store_n(&region.function, function, __ATOMIC_RELAXED);
            region.facts.begin_ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U +
                                    static_cast<uint64_t>(now.tv_nsec);
            region.facts.thread = pthread_self();
            const char* name = g_name(function);
            const size_t length = strnlen(name, sizeof region.facts.name - 1);
            memcpy(region.facts.name, name, length);
            region.facts.name[length] = '\0';
            __atomic_store_n(&region.state, kOpen, __ATOMIC_RELEASE);
            break;
        }
    }
    return out_context;
}

void end_recorded(Region& region) {
    g_end_region(region.facts.name);
    __atomic_store_n(&region.state, kFree, __ATOMIC_RELEASE);
}

void on_end(const void* function, void*) {
    for (Region& region : g_regions) {
        const State state = __atomic_load_n(&region.state, __ATOMIC_ACQUIRE);
        if (state < kOpen || state == kEndedWhileRecorded ||
            __atomic_load_n(&region.function, __ATOMIC_RELAXED) != function) {
            continue;
        }
        if (!change(region, kOpen, kFree) && !change(region, kBeingRecorded, kEndedWhileRecorded)) {
            end_recorded(region);
        }
        return;
    }
}

// Searches the caller's library first, then torch's usual library.
bool find_real(const void* caller) {
    Dl_info info{};
    const char* const names[] = {dladdr(caller, &info) != 0 ? info.dli_fname : nullptr,
                                 "libtorch_cpu.so"};
    for (const char* name : names) {
        void* library = name != nullptr ? dlopen(name, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
        if (library == nullptr) {
            continue;
        }
        const auto real = reinterpret_cast<StepCallbacks>(dlsym(library, kStepCallbacksSymbol));
        const auto name_of = reinterpret_cast<NameOfRegion>(dlsym(library, kNameSymbol));
        if (real != nullptr && name_of != nullptr) {
            __atomic_store_n(&g_name, name_of, __ATOMIC_RELEASE);
            __atomic_store_n(&g_real, real, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

bool has_room(const SmallVector& callbacks) {
    return callbacks.begin == callbacks.first && callbacks.capacity == 4 && callbacks.size < 4;
}

}  // namespace

extern "C" {

// at::StepCallbacks at::getStepCallbacks(at::RecordScope). Operators use another function.
// NOLINTNEXTLINE(readability-identifier-naming): torch's own name.
EXPORT void* _ZN2at16getStepCallbacksENS_11RecordScopeE(void* out, uint8_t scope) {
    if (__atomic_load_n(&g_real, __ATOMIC_ACQUIRE) == nullptr &&
        !find_real(__builtin_return_address(0))) {
        // Returns an empty list of callbacks. The rest of the result is numbers and flags.
        auto* const none = static_cast<SmallVector*>(out);
        memset(static_cast<void*>(none), 0, sizeof *none + 2 * sizeof(uint64_t));
        none->begin = none->first;
        none->capacity = 4;
        return out;
    }
    g_real(out, scope);
    auto* const callbacks = static_cast<SmallVector*>(out);
    if (scope == kUserScope && !__atomic_load_n(&g_is_recorded, __ATOMIC_ACQUIRE) &&
        has_room(*callbacks)) {
        callbacks->first[callbacks->size++] = Pair{on_begin, on_end};
    }
    return out;
}

EXPORT size_t peakline_early_regions(PeaklineEarlyRegion* regions, size_t room) {
    size_t count = 0;
    for (Region& region : g_regions) {
        if (count < room && change(region, kOpen, kBeingRecorded)) {
            regions[count++] = region.facts;
        }
    }
    return count;
}

EXPORT void peakline_early_regions_recorded(void (*end_region)(const char* name)) {
    g_end_region = end_region;
    __atomic_store_n(&g_is_recorded, true, __ATOMIC_RELEASE);
    for (Region& region : g_regions) {
        if (!change(region, kBeingRecorded, kRecorded) &&
            __atomic_load_n(&region.state, __ATOMIC_ACQUIRE) == kEndedWhileRecorded) {
            end_recorded(region);
        }
    }
}

}  // extern "C"
