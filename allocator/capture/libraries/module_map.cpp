#include "module_map.h"

#include <algorithm>

#include <elf.h>
#include <link.h>

#include "build_id.h"
#include "loader_walk.h"

namespace peakline::capture {
namespace {

struct Walk {
    record::StackTable* table;
    void* const* addresses;
    size_t count;
    ModuleHit* hits;
};

struct Extent {
    uint64_t start = ~uint64_t{0};
    uint64_t end = 0;
};

Extent extent_of(const dl_phdr_info* info) {
    Extent extent;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type == PT_LOAD) {
            const uint64_t start = info->dlpi_addr + segment.p_vaddr;
            extent.start = std::min(extent.start, start);
            extent.end = std::max(extent.end, start + segment.p_memsz);
        }
    }
    return extent;
}

// As a string of raw bytes; 0 when there is none.
uint32_t intern_build_id(record::StackTable& table, const dl_phdr_info* info) {
    const std::string_view build_id = find_build_id(info);
    return build_id.empty() ? 0 : table.intern_string(build_id.data(), build_id.size());
}

uint32_t intern_module(record::StackTable& table, const dl_phdr_info* info, const Extent& extent) {
    const char* path = info->dlpi_name;
    // The executable has an empty name.
    const char* shown = path == nullptr || path[0] == '\0' ? "(executable)" : path;
    return table.intern_module(record::Module{extent.start,
                                              extent.end,
                                              info->dlpi_addr,
                                              table.intern_text(shown),
                                              intern_build_id(table, info)});
}

int visit(dl_phdr_info* info, size_t, void* data) {
    auto* walk = static_cast<Walk*>(data);
    const Extent extent = extent_of(info);
    uint32_t module = 0;
    for (size_t i = 0; i < walk->count; ++i) {
        const auto address = reinterpret_cast<uint64_t>(walk->addresses[i]);
        if (address < extent.start || address >= extent.end) {
            continue;
        }
        if (module == 0) {
            module = intern_module(*walk->table, info, extent);
        }
        walk->hits[i] = ModuleHit{module, info->dlpi_addr};
    }
    return 0;
}

}  // namespace

void find_modules_slow(record::StackTable& table,
                       void* const* addresses,
                       size_t count,
                       ModuleHit* hits) {
    std::fill(hits, hits + count, ModuleHit{});
    Walk walk{&table, addresses, count, hits};
    walk_loaded_objects_slow(visit, &walk);
}

}  // namespace peakline::capture
