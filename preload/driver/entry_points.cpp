// Looks up the driver's functions for callers and returns ours instead. It never searches a handle
// that the caller did not name, and never mistakes our function for the real one.
//
// Note [Which driver]
// Only functions inside the driver's own library are replaced. A program may load a second driver
// (dlmopen, the lower library of WSL). A caller inside a library of that name gets the real
// function; otherwise our "real" function would be ours.
#include "entry_points.h"

#include <cstring>

#include <dlfcn.h>

#include "driver_calls.h"
#include "driver_seam.h"

namespace peakline::driver {
namespace {

// Versions from cudaTypedefs.h of this CUDA release.
constexpr int kNewestKnownVersion = 13020;
constexpr uint64_t kPerThreadFlag = 2;  // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
constexpr char kDriverName[] = "libcuda.so";

struct Row {
    const char* symbol;  // nullptr: an ABI that is passed on
    const char* name;
    int version;
    bool is_per_thread;
    void* ours;
    Entry entry;
};

#define HOOKED(symbol, name, version, is_per_thread) \
    {#symbol, name, version, is_per_thread, reinterpret_cast<void*>(&(symbol)), Entry::k_##symbol},
#define EARLIER(name, version) {nullptr, name, version, false, nullptr, Entry{}},
// These addresses are link-time constants, so no constructor has to run.
const Row g_rows[] = {
#include "entry_points.inc"
};
#undef HOOKED
#undef EARLIER
constexpr size_t kRowCount = sizeof g_rows / sizeof g_rows[0];

// Indexed by Entry. relaxed everywhere: every writer writes the same.
void* g_real[kRowCount];
// Base address of the first driver in the process, from dladdr.
void* g_driver_base;

void* load(void* const& from) {
    return __atomic_load_n(&from, __ATOMIC_RELAXED);
}
void store(void*& to, void* value) {
    __atomic_store_n(&to, value, __ATOMIC_RELAXED);
}

bool is_driver(const Dl_info& library) {
    if (library.dli_fname == nullptr) {
        return false;
    }
    const char* const slash = strrchr(library.dli_fname, '/');
    const char* const name = slash != nullptr ? slash + 1 : library.dli_fname;
    return strncmp(name, kDriverName, sizeof kDriverName - 1) == 0;
}

// See Note [Which driver].
bool may_replace(const void* found, const void* caller) {
    Dl_info library{};
    Dl_info asking{};
    if (dladdr(found, &library) == 0 || !is_driver(library)) {
        return false;
    }
    if (dladdr(caller, &asking) != 0 && is_driver(asking)) {
        return false;
    }
    void* const base = load(g_driver_base);
    if (base == nullptr) {
        store(g_driver_base, library.dli_fbase);
        // Keeps the library loaded: its addresses are cached.
        dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
    return base == nullptr || base == library.dli_fbase;
}

void* replace(const Row& row, void* found, const void* caller) {
    if (found == nullptr || found == row.ours || !may_replace(found, caller)) {
        return found;
    }
    void*& real = g_real[static_cast<size_t>(row.entry)];
    if (load(real) == nullptr) {
        store(real, found);
    }
    return row.ours;
}

constexpr uint32_t hash_of(const char* text) {
    uint32_t hash = 2166136261U;
    for (; *text != '\0'; ++text) {
        hash = (hash ^ static_cast<unsigned char>(*text)) * 16777619U;
    }
    return hash;
}

// Rows by the hash of their symbol, plus one; 0: none.
struct Index {
    static constexpr uint32_t kSlots = 512;
    uint8_t rows[kSlots] = {};
};
constexpr Index make_index() {
#define HOOKED(symbol, name, version, is_per_thread) #symbol,
#define EARLIER(name, version) nullptr,
    constexpr const char* kSymbols[] = {
#include "entry_points.inc"
    };
#undef HOOKED
#undef EARLIER
    static_assert(sizeof kSymbols / sizeof kSymbols[0] < 255);
    Index index;
    uint8_t number = 0;
    for (const char* symbol : kSymbols) {
        ++number;
        if (symbol == nullptr) {
            continue;
        }
        uint32_t at = hash_of(symbol) % Index::kSlots;
        while (index.rows[at] != 0) {
            at = (at + 1) % Index::kSlots;
        }
        index.rows[at] = number;
    }
    return index;
}
constexpr Index kIndex = make_index();

const Row* find_symbol(const char* symbol) {
    for (uint32_t at = hash_of(symbol) % Index::kSlots; kIndex.rows[at] != 0;
         at = (at + 1) % Index::kSlots) {
        const Row& row = g_rows[kIndex.rows[at] - 1];
        if (strcmp(row.symbol, symbol) == 0) {
            return &row;
        }
    }
    return nullptr;
}

// The newest ABI of this name that is not newer than `version`.
const Row* find_version(const char* name, int version, bool is_per_thread) {
    const Row* best = nullptr;
    for (const Row& row : g_rows) {
        if (row.version > version || (row.is_per_thread && !is_per_thread) ||
            strcmp(row.name, name) != 0) {
            continue;
        }
        const bool is_newer = best == nullptr || row.version > best->version;
        if (is_newer || (row.version == best->version && row.is_per_thread)) {
            best = &row;
        }
    }
    return best;
}

}  // namespace

void* real_function(Entry entry) {
    void*& real = g_real[static_cast<size_t>(entry)];
    void* known = load(real);
    if (__builtin_expect(known == nullptr, 0)) {
        // A linked program reaches ours by the loader's binding, so no lookup has found the real
        // one yet.
        for (const Row& row : g_rows) {
            if (row.ours != nullptr && row.entry == entry) {
                known = peakline_driver_function(row.symbol);
            }
        }
        store(real, known);
    }
    return known;
}

void* answer_for(const char* name, int version, uint64_t flags, void* found, const void* caller) {
    const Row* const row = find_version(name, version, (flags & kPerThreadFlag) != 0);
    if (row == nullptr || row->ours == nullptr) {
        return found;
    }
    // A later release may have a newer ABI of this name. We must not replace it.
    if (version > kNewestKnownVersion && found != real_function(row->entry)) {
        return found;
    }
    return replace(*row, found, caller);
}

}  // namespace peakline::driver

extern "C" {

// The stub, or the code below, sets it before use.
__attribute__((visibility("hidden"))) void* (*g_peakline_real_dlsym)(void*, const char*) = nullptr;

// Before glibc 2.34 dlsym is libdl's.
__attribute__((visibility("hidden"), used)) void peakline_find_real_dlsym() {
    static constexpr const char* kVersions[] = {"GLIBC_2.34", "GLIBC_2.2.5"};
    for (const char* version : kVersions) {
        void* const found = dlvsym(RTLD_NEXT, "dlsym", version);
        if (found != nullptr) {
            g_peakline_real_dlsym = reinterpret_cast<void* (*)(void*, const char*)>(found);
            return;
        }
    }
    __builtin_trap();  // a libc without dlsym
}

// Our result for dlsym(handle, name), for a name that begins with "cu". nullptr: the stub must jump
// to the real dlsym, which then sees `caller`.
__attribute__((visibility("hidden"), used)) void* peakline_driver_find(void* handle,
                                                                       const char* name,
                                                                       const void* caller) {
    if (handle == RTLD_NEXT || handle == RTLD_DEFAULT) {
        return nullptr;
    }
    const peakline::driver::Row* const row = peakline::driver::find_symbol(name);
    if (row == nullptr) {
        return nullptr;
    }
    if (g_peakline_real_dlsym == nullptr) {
        peakline_find_real_dlsym();
    }
    return peakline::driver::replace(*row, g_peakline_real_dlsym(handle, name), caller);
}

void* peakline_driver_replacement(const char* symbol) {
    const peakline::driver::Row* const row = peakline::driver::find_symbol(symbol);
    return row != nullptr ? row->ours : nullptr;
}

void* peakline_driver_function(const char* symbol) {
    if (g_peakline_real_dlsym == nullptr) {
        peakline_find_real_dlsym();
    }
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    return driver != nullptr ? g_peakline_real_dlsym(driver, symbol) : nullptr;
}
}
