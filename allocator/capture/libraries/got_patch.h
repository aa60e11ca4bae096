// Redirects calls that loaded libraries make to one function through their import tables (GOT) to a
// replacement. Works with and without LD_PRELOAD, and only for libraries that import the symbol.
// Call it again for libraries loaded later.
#pragma once

#include <cstdint>

struct dl_phdr_info;

namespace peakline::capture {

// Whether a segment of this kind (PT_LOAD, ...) of the library holds the address.
bool holds(const dl_phdr_info* library, uint32_t kind, const void* address);

// Whether the loader made the page of this address read-only after loading (full RELRO).
bool is_read_only(const dl_phdr_info* library, const void* address);

// A function that a loaded library calls through its import table.
struct Import {
    const dl_phdr_info* library;
    const char* symbol;
    void** slot;

    // False if the table is read-only and stays so.
    bool lead_to(void* function) const;
};

// Visits the imports of loaded libraries with `library_filter` in their file name (empty: all),
// except those of libpeakline*.so.
using VisitImport = void (*)(const Import& import, void* data);
void for_each_import(const char* library_filter, VisitImport visit, void* data);
// Visits the imports of at least the `library_count` newest libraries.
void for_each_import_of_newest(uint64_t library_count, VisitImport visit, void* data);

// Redirects each import named `symbol` of such libraries to `replacement`. Returns the number of
// slots changed now; slots already redirected do not count. `previous` (may be null) receives the
// old target of a changed slot, unless it was not bound yet.
int redirect_imports(const char* symbol,
                     const char* library_filter,
                     void* replacement,
                     void** previous = nullptr);

// The same for the one library, or the program, that contains the address `within`.
int redirect_imports_of(const void* within, const char* symbol, void* replacement);

// The address of `symbol` as `library` (its file name) sees it; nullptr when that library is not
// loaded or lacks the symbol. Loads nothing.
void* find_in_loaded(const char* library, const char* symbol);

}  // namespace peakline::capture
