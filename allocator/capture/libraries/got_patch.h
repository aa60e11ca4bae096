// Leads calls of one function, made by already loaded libraries through their import tables (GOT),
// to ours. Works with and without LD_PRELOAD, and for no library but those that import the symbol.
// Libraries loaded later are reached by calling it again.
#pragma once

#include <cstdint>

struct dl_phdr_info;

namespace peakline::capture {

// Whether a segment of this kind (PT_LOAD, ...) of the library holds the address.
bool holds(const dl_phdr_info* library, uint32_t kind, const void* address);

// Whether the loader made the page of this address read-only after loading (full RELRO).
bool is_read_only(const dl_phdr_info* library, const void* address);

// A function that a loaded library calls through its table.
struct Import {
    const dl_phdr_info* library;
    const char* symbol;
    void** slot;

    // False when the table is read-only and stays so.
    bool lead_to(void* function) const;
};

// Visits the imports of loaded libraries whose file name contains `library_filter` (empty: all),
// but not those of libpeakline*.so.
using VisitImport = void (*)(const Import& import, void* data);
void for_each_import(const char* library_filter, VisitImport visit, void* data);
// Those of the libraries loaded last, at least so many.
void for_each_import_of_newest(uint64_t library_count, VisitImport visit, void* data);

// Redirects each of the imports of such libraries that is called `symbol` to `replacement`. Returns
// the number of slots changed now; slots already redirected do not count. `previous` (may be null)
// becomes what a changed slot led to, unless it was not bound yet.
int redirect_imports(const char* symbol,
                     const char* library_filter,
                     void* replacement,
                     void** previous = nullptr);

// The same for the one library, or the program, that the address `within` lies in.
int redirect_imports_of(const void* within, const char* symbol, void* replacement);

// The address of `symbol` as `library` (its file name) sees it, or nullptr when that library is not
// loaded or does not have it. Loads nothing.
void* find_in_loaded(const char* library, const char* symbol);

}  // namespace peakline::capture
