// A 64-bit little-endian ELF file of this machine, mapped and checked. Used by symbol tables only.
// Trusts nothing in the file: parts outside of it count as absent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <elf.h>

namespace peakline::report {

// A file mapped for reading. Cutting a mapped file raises SIGBUS; but modules are libraries that
// other processes run, and nobody cuts those.
class MappedFile {
public:
    // Empty when there is no readable regular file at `path`.
    explicit MappedFile(const std::string& path);
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const unsigned char> bytes() const { return {bytes_, size_}; }

private:
    const unsigned char* bytes_ = nullptr;
    size_t size_ = 0;
};

class ElfImage {
public:
    // `bytes` must outlive the image.
    explicit ElfImage(std::span<const unsigned char> bytes);

    // Raw bytes of the GNU build id; empty when there is none.
    std::string_view build_id() const;
    // Entries of .symtab, or of .dynsym when the file was stripped.
    size_t symbol_count() const { return symbol_count_; }
    Elf64_Sym symbol(size_t index) const;
    // Empty when the symbol's name does not end within its string table.
    std::string_view name(const Elf64_Sym& symbol) const;

private:
    // The bytes [offset, offset + size) of the file; empty when they are not within it.
    std::span<const unsigned char> part(uint64_t offset, uint64_t size) const;
    bool read_section(uint64_t index, Elf64_Shdr* section) const;
    bool use_symbols(const Elf64_Shdr& section);

    std::span<const unsigned char> bytes_;
    Elf64_Ehdr header_ = {};
    std::span<const unsigned char> symbols_;
    std::span<const unsigned char> strings_;
    size_t symbol_count_ = 0;
};

}  // namespace peakline::report
