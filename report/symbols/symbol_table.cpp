#include "symbol_table.h"

#include <algorithm>
#include <tuple>

namespace peakline::report {
namespace {

// Functions before the address may be nested or empty and not contain it. An honest file has only a
// few of these.
constexpr int kMaxEntriesTried = 16;

bool is_function(const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != SHN_UNDEF;
}

}  // namespace

SymbolTable::SymbolTable(const ElfImage& image) : image_(image) {
    for (size_t i = 0; i < image.symbol_count(); ++i) {
        const Elf64_Sym symbol = image.symbol(i);
        if (is_function(symbol)) {
            entries_.push_back({static_cast<uint32_t>(symbol.st_value >> 32),
                                static_cast<uint32_t>(symbol.st_value),
                                static_cast<uint32_t>(i)});
        }
    }
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return std::tuple(a.address(), a.symbol) < std::tuple(b.address(), b.symbol);
    });
}

std::string_view SymbolTable::find(uint64_t address) const {
    auto at = std::upper_bound(
        entries_.begin(), entries_.end(), address, [](uint64_t value, const Entry& entry) {
            return value < entry.address();
        });
    for (int looked = 0; at != entries_.begin() && looked < kMaxEntriesTried; ++looked) {
        --at;
        const Elf64_Sym symbol = image_.symbol(at->symbol);
        if (address - at->address() < symbol.st_size) {
            return image_.name(symbol);
        }
    }
    return {};
}

}  // namespace peakline::report
