#include "got_patch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader_walk.h"

namespace peakline::capture {
namespace {

struct Visitor {
    const char* library_filter = nullptr;
    const void* within = nullptr;  // nullptr: any library
    VisitImport visit = nullptr;
    void* data = nullptr;
    uint64_t skipped_count = 0;  // libraries to skip: the first ones, which are the oldest
};

struct Patched {
    ElfW(Addr) library;
    Import import;
};

struct Request {
    const char* symbol;
    void* replacement;
    void** previous;
    int changed;
    Patched patched[64];  // the first of the changed slots
};

// The import tables of one loaded library.
struct Imports {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    const ElfW(Rela) * tables[2] = {nullptr, nullptr};
    size_t counts[2] = {0, 0};
};

// glibc relocates the addresses of a dynamic section in place, unless the section is read-only.
ElfW(Addr) relocated(const dl_phdr_info* info, ElfW(Addr) address) {
    return holds(info, PT_LOAD, reinterpret_cast<const void*>(address)) ? address
                                                                        : info->dlpi_addr + address;
}

Imports find_imports(const dl_phdr_info* info, const ElfW(Dyn) * dynamic) {
    Imports imports;
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
        const auto address = relocated(info, dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
            case DT_SYMTAB:
                imports.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
                break;
            case DT_STRTAB:
                imports.strings = reinterpret_cast<const char*>(address);
                break;
            case DT_JMPREL:
                imports.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_PLTRELSZ:
                imports.counts[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_RELA:
                imports.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_RELASZ:
                imports.counts[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela));
                break;
            default:
                break;
        }
    }
    return imports;
}

// Full RELRO makes the table read-only after loading.
bool write_slot(void** slot, void* value, bool read_only) {
    const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) & ~(page_bytes - 1));
    if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    // release: the setup of the hook's state is visible to every caller of the hook.
    std::atomic_ref<void*>(*slot).store(value, std::memory_order_release);
    if (read_only) {
        mprotect(page, page_bytes, PROT_READ);
    }
    return true;
}

// A slot that was never called may lead back into its own library, to the loader's stub.
bool is_bound(const dl_phdr_info* info, const void* target) {
    return target != nullptr && !holds(info, PT_LOAD, target);
}

void visit_table(const dl_phdr_info* info,
                 const Imports& imports,
                 const ElfW(Rela) * table,
                 size_t count,
                 const Visitor& visitor) {
    for (size_t i = 0; i < count; ++i) {
        const auto type = ELF64_R_TYPE(table[i].r_info);
        if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) {
            continue;
        }
        const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(table[i].r_info)];
        visitor.visit(Import{info,
                             imports.strings + symbol.st_name,
                             reinterpret_cast<void**>(info->dlpi_addr + table[i].r_offset)},
                      visitor.data);
    }
}

int visit_library(dl_phdr_info* info, size_t, void* data) {
    auto* visitor = static_cast<Visitor*>(data);
    if (visitor->skipped_count > 0) {
        --visitor->skipped_count;
        return 0;
    }
    const char* name = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (visitor->within != nullptr && !holds(info, PT_LOAD, visitor->within)) {
        return 0;
    }
    if (strstr(name, visitor->library_filter) == nullptr ||
        strstr(name, "libpeakline") != nullptr || strstr(name, "linux-vdso") != nullptr) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) {
            continue;
        }
        const Imports imports = find_imports(
            info, reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
        for (int table = 0; table < 2; ++table) {
            if (imports.tables[table] != nullptr && imports.symbols != nullptr &&
                imports.strings != nullptr) {
                visit_table(info, imports, imports.tables[table], imports.counts[table], *visitor);
            }
        }
    }
    return 0;
}

void redirect(const Import& import, void* data) {
    auto* request = static_cast<Request*>(data);
    if (strcmp(import.symbol, request->symbol) != 0) {
        return;
    }
    void* const target = *import.slot;
    if (target != request->replacement && import.lead_to(request->replacement)) {
        if (static_cast<size_t>(request->changed) < std::size(request->patched)) {
            request->patched[request->changed] = {import.library->dlpi_addr, import};
        }
        ++request->changed;
        if (request->previous != nullptr && is_bound(import.library, target)) {
            *request->previous = target;
        }
    }
}

// A thread that binds one of the slots at this moment may write the real function after our write.
int patch_again(dl_phdr_info* info, size_t, void* data) {
    auto* request = static_cast<Request*>(data);
    const auto count = std::min(static_cast<size_t>(request->changed), std::size(request->patched));
    for (size_t i = 0; i < count; ++i) {
        Patched& patched = request->patched[i];
        if (patched.library == info->dlpi_addr && holds(info, PT_LOAD, patched.import.slot) &&
            *patched.import.slot != request->replacement) {
            patched.import.library = info;
            patched.import.lead_to(request->replacement);
        }
    }
    return 0;
}

int redirect_all(Request& request, Visitor visitor) {
    visitor.data = &request;
    walk_loaded_objects_slow(visit_library, &visitor);
    if (request.changed > 0) {
        walk_loaded_objects_slow(patch_again, &request);
    }
    return request.changed;
}

}  // namespace

bool holds(const dl_phdr_info* library, uint32_t kind, const void* address) {
    const auto at = reinterpret_cast<uintptr_t>(address);
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = library->dlpi_phdr[i];
        const uintptr_t start = library->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == kind && at >= start && at < start + segment.p_memsz) {
            return true;
        }
    }
    return false;
}

bool is_read_only(const dl_phdr_info* library, const void* address) {
    const auto page_mask = ~(static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) - 1);
    const auto page = reinterpret_cast<uintptr_t>(address) & page_mask;
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = library->dlpi_phdr[i];
        const uintptr_t start = library->dlpi_addr + segment.p_vaddr;
        // Both are rounded down, as the loader does: a page shared with other data stays writable.
        if (segment.p_type == PT_GNU_RELRO && page >= (start & page_mask) &&
            page < ((start + segment.p_memsz) & page_mask)) {
            return true;
        }
    }
    return false;
}

bool Import::lead_to(void* function) const {
    return write_slot(slot, function, is_read_only(library, slot));
}

void for_each_import(const char* library_filter, VisitImport visit, void* data) {
    Visitor visitor{library_filter, nullptr, visit, data};
    walk_loaded_objects_slow(visit_library, &visitor);
}

// The loader lists libraries in the order of loading.
void for_each_import_of_newest(uint64_t library_count, VisitImport visit, void* data) {
    uint64_t present = 0;
    walk_loaded_objects_slow(
        [](dl_phdr_info*, size_t, void* count) {
            ++*static_cast<uint64_t*>(count);
            return 0;
        },
        &present);
    Visitor visitor{"", nullptr, visit, data, present - std::min(library_count, present)};
    walk_loaded_objects_slow(visit_library, &visitor);
}

int redirect_imports(const char* symbol,
                     const char* library_filter,
                     void* replacement,
                     void** previous) {
    Request request{symbol, replacement, previous, 0, {}};
    return redirect_all(request, {library_filter, nullptr, redirect, nullptr});
}

int redirect_imports_of(const void* within, const char* symbol, void* replacement) {
    Request request{symbol, replacement, nullptr, 0, {}};
    return redirect_all(request, {"", within, redirect, nullptr});
}

void* find_in_loaded(const char* library, const char* symbol) {
    void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    return handle != nullptr ? dlsym(handle, symbol) : nullptr;
}

}  // namespace peakline::capture
