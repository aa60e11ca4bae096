#include "elf_image.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace peakline::report {
namespace {

// More than any library has: a hostile file must not cost time.
constexpr uint64_t kMaxSegments = 256;
constexpr uint64_t kMaxNoteBytes = uint64_t{64} * 1024;
constexpr size_t kMaxSymbols = size_t{1} << 23;

template <class T>
T read_as(std::span<const unsigned char> bytes, size_t offset) {
    T value = {};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

size_t padded(size_t size) {
    return (size + 3) & ~size_t{3};
}

// Returns the build id among the notes of one segment.
std::string_view find_build_id(std::span<const unsigned char> notes) {
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
        const auto note = read_as<Elf64_Nhdr>(notes, 0);
        const size_t name_end = sizeof(note) + padded(note.n_namesz);
        const size_t note_end = name_end + padded(note.n_descsz);
        if (name_end > notes.size() || note.n_descsz > notes.size() - name_end) {
            return {};
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
            std::memcmp(notes.data() + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
            return {reinterpret_cast<const char*>(notes.data() + name_end), note.n_descsz};
        }
        notes = notes.subspan(std::min(note_end, notes.size()));
    }
    return {};
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
    // O_NONBLOCK: a trace may name a pipe; opening one must not wait.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return;
    }
    struct stat status = {};
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const auto size = static_cast<size_t>(status.st_size);
        void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapped != MAP_FAILED) {
            bytes_ = static_cast<const unsigned char*>(mapped);
            size_ = size;
        }
    }
    close(descriptor);
}

MappedFile::~MappedFile() {
    if (bytes_ != nullptr) {
        munmap(const_cast<unsigned char*>(bytes_), size_);
    }
}

ElfImage::ElfImage(std::span<const unsigned char> bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(header_)) {
        return;
    }
    const auto header = read_as<Elf64_Ehdr>(bytes, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
        return;
    }
    header_ = header;
    for (const uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
        Elf64_Shdr section = {};
        for (uint64_t i = 0; read_section(i, &section); ++i) {
            if (section.sh_type == type && use_symbols(section)) {
                return;
            }
        }
    }
}

std::span<const unsigned char> ElfImage::part(uint64_t offset, uint64_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
        return {};
    }
    return bytes_.subspan(offset, size);
}

bool ElfImage::read_section(uint64_t index, Elf64_Shdr* section) const {
    if (header_.e_shentsize != sizeof(*section) || index >= header_.e_shnum ||
        header_.e_shoff > bytes_.size()) {
        return false;
    }
    const auto bytes = part(header_.e_shoff + index * sizeof(*section), sizeof(*section));
    if (bytes.empty()) {
        return false;
    }
    *section = read_as<Elf64_Shdr>(bytes, 0);
    return true;
}

bool ElfImage::use_symbols(const Elf64_Shdr& section) {
    Elf64_Shdr strings = {};
    if (section.sh_entsize != sizeof(Elf64_Sym) || !read_section(section.sh_link, &strings) ||
        strings.sh_type != SHT_STRTAB) {
        return false;
    }
    symbols_ = part(section.sh_offset, section.sh_size);
    strings_ = part(strings.sh_offset, strings.sh_size);
    symbol_count_ =
        strings_.empty() ? 0 : std::min(symbols_.size() / sizeof(Elf64_Sym), kMaxSymbols);
    return symbol_count_ != 0;
}

std::string_view ElfImage::build_id() const {
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phoff > bytes_.size()) {
        return {};
    }
    for (uint64_t i = 0; i < std::min<uint64_t>(header_.e_phnum, kMaxSegments); ++i) {
        const auto bytes = part(header_.e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
        if (bytes.empty()) {
            return {};
        }
        const auto segment = read_as<Elf64_Phdr>(bytes, 0);
        if (segment.p_type == PT_NOTE) {
            const uint64_t size = std::min<uint64_t>(segment.p_filesz, kMaxNoteBytes);
            const std::string_view found = find_build_id(part(segment.p_offset, size));
            if (!found.empty()) {
                return found;
            }
        }
    }
    return {};
}

Elf64_Sym ElfImage::symbol(size_t index) const {
    return read_as<Elf64_Sym>(symbols_, index * sizeof(Elf64_Sym));
}

std::string_view ElfImage::name(const Elf64_Sym& symbol) const {
    if (symbol.st_name >= strings_.size()) {
        return {};
    }
    const auto* start = reinterpret_cast<const char*>(strings_.data()) + symbol.st_name;
    const size_t room = strings_.size() - symbol.st_name;
    const void* end = std::memchr(start, '\0', room);
    return end == nullptr ? std::string_view()
                          : std::string_view(start, static_cast<const char*>(end));
}

}  // namespace peakline::report
