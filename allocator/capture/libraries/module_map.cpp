#include "module_map.h"

#include <algorithm>
#include <string_view>

#include <elf.h>
#include <link.h>

#include "build_id.h"
#include "loader_walk.h"

namespace peakline::capture {
namespace {

struct Extent {
    uint64_t start = ~uint64_t{0};
    uint64_t end = 0;
    bool holds(const void* address) const {
        const auto at = reinterpret_cast<uint64_t>(address);
        return at >= start && at < end;
    }
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

// One library found by a walk. The walk owns its texts.
struct Found {
    Extent extent;
    uint64_t load_bias;
    std::string_view path;
    std::string_view build_id;  // raw bytes; empty: it has none
};

// Finds as many libraries as it has room for. It assigns no ids: the walk holds a lock of the
// loader, and a thread that holds the lock of the ids may be in a signal handler of the program
// that unwinds and waits for the loader's lock.
class Walk {
public:
    Walk(void* const* addresses, size_t count, ModuleHit* hits)
        : addresses_(addresses), count_(count), hits_(hits) {
        walk_loaded_objects_slow(
            [](dl_phdr_info* info, size_t, void* data) {
                static_cast<Walk*>(data)->look_at(info);
                return 0;
            },
            this);
    }

    // False: every library has been found, or the tables are full.
    bool intern_all(record::StackTable& table) {
        bool is_full = false;
        for (size_t i = 0; i < found_count_; ++i) {
            const Found& found = found_[i];
            const uint32_t id = table.intern_module(record::Module{
                found.extent.start,
                found.extent.end,
                found.load_bias,
                table.intern_string(found.path.data(), found.path.size()),
                found.build_id.empty()
                    ? 0
                    : table.intern_string(found.build_id.data(), found.build_id.size())});
            is_full = is_full || id == 0;
            for (size_t hit = 0; hit < count_; ++hit) {
                if (is_wanted(hit, found.extent)) {
                    hits_[hit] = ModuleHit{id, found.load_bias};
                }
            }
        }
        return has_left_some_ && !is_full;
    }

private:
    static constexpr size_t kMostFound = 16;  // stacks go through fewer
    static constexpr size_t kLongestPath = 4096;

    void look_at(const dl_phdr_info* info) {
        const Extent extent = extent_of(info);
        bool is_wanted_here = false;
        for (size_t i = 0; i < count_ && !is_wanted_here; ++i) {
            is_wanted_here = is_wanted(i, extent);
        }
        if (!is_wanted_here) {
            return;
        }
        // The executable has an empty name.
        const bool has_path = info->dlpi_name != nullptr && info->dlpi_name[0] != '\0';
        const std::string_view path = has_path ? info->dlpi_name : "(executable)";
        const std::string_view build_id = find_build_id(info);
        if (found_count_ == kMostFound ||
            (found_count_ > 0 && path.size() + build_id.size() > sizeof texts_ - used_)) {
            has_left_some_ = true;
            return;
        }
        found_[found_count_++] = Found{extent, info->dlpi_addr, keep(path), keep(build_id)};
    }

    bool is_wanted(size_t i, const Extent& extent) const {
        return hits_[i].module == 0 && extent.holds(addresses_[i]);
    }

    std::string_view keep(std::string_view text) {
        const size_t length = std::min(text.size(), sizeof texts_ - used_);
        char* const copy = texts_ + used_;
        std::copy_n(text.data(), length, copy);
        used_ += length;
        return {copy, length};
    }

    void* const* addresses_;
    size_t count_;
    ModuleHit* hits_;
    bool has_left_some_ = false;
    size_t found_count_ = 0;
    Found found_[kMostFound];
    size_t used_ = 0;
    char texts_[kLongestPath];
};

}  // namespace

void find_modules_slow(record::StackTable& table,
                       void* const* addresses,
                       size_t count,
                       ModuleHit* hits) {
    std::fill(hits, hits + count, ModuleHit{});
    while (Walk(addresses, count, hits).intern_all(table)) {
    }
}

}  // namespace peakline::capture
