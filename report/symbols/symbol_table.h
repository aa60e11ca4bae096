// The functions of one ELF file by address. Sorted once; a lookup is a binary search.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf_image.h"

namespace peakline::report {

class SymbolTable {
public:
    // `image` must outlive the table.
    explicit SymbolTable(const ElfImage& image);

    // Returns the mangled name of the function that contains `address` (as the file counts
    // addresses); empty when none does. Valid as long as the image.
    std::string_view find(uint64_t address) const;
    size_t size() const { return entries_.size(); }

private:
    // 12 bytes: half a million of them are sorted for libtorch.
    struct Entry {
        uint32_t address_high;
        uint32_t address_low;
        uint32_t symbol;
        uint64_t address() const { return uint64_t{address_high} << 32 | address_low; }
    };
    static_assert(sizeof(Entry) == 12);

    const ElfImage& image_;
    std::vector<Entry> entries_;
};

}  // namespace peakline::report
