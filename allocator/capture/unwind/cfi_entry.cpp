#include "cfi_entry.h"

#include <cstddef>

extern "C" {
// libgcc's own lookup, exported since GCC 3.0 for debuggers and other languages' runtimes. Since
// glibc 2.35 it calls _dl_find_object, which takes no lock.
struct dwarf_eh_bases {  // NOLINT(readability-identifier-naming): libgcc's name
    void* text;
    void* data;
    void* function;
};
// NOLINTNEXTLINE(readability-identifier-naming)
const void* _Unwind_Find_FDE(void* code_address, dwarf_eh_bases* bases);
}

namespace peakline::capture {
namespace {

constexpr uint64_t kReturnAddressColumn = 16;  // x86-64 psABI

// Bytes of a DW_EH_PE_* encoded pointer, 0: of no fixed length.
size_t encoded_bytes(uint8_t encoding) {
    switch (encoding & 0x0fU) {
        case 0x00:  // absptr
        case 0x04:  // udata8
        case 0x0c:  // sdata8
            return 8;
        case 0x03:  // udata4
        case 0x0b:  // sdata4
            return 4;
        case 0x02:  // udata2
        case 0x0a:  // sdata2
            return 2;
        default:
            return 0;
    }
}

// The CIE's augmentation, "zPLRS" in any order. False for unknown letters.
bool read_augmentation(const char* letters, Cursor cie, CfiEntry& function, uint8_t& encoding) {
    if (letters[0] == '\0') {
        return true;
    }
    if (letters[0] != 'z') {
        return false;
    }
    for (const char* letter = letters + 1; *letter != '\0'; ++letter) {
        switch (*letter) {
            case 'R':
                encoding = cie.fixed<uint8_t>();
                break;
            case 'L':
                cie.at += 1;
                break;
            case 'P': {
                const size_t bytes = encoded_bytes(cie.fixed<uint8_t>());
                if (bytes == 0) {
                    return false;
                }
                cie.at += bytes;
                break;
            }
            case 'S':
                function.signal_frame = true;
                break;
            default:
                return false;
        }
    }
    return true;
}

bool read_function(const uint8_t* fde, uint64_t start, CfiEntry& function) {
    constexpr uint32_t kLongForm = 0xffffffff;
    Cursor entry{fde, fde};
    const auto bytes = entry.fixed<uint32_t>();
    if (bytes == 0 || bytes == kLongForm) {
        return false;
    }
    entry.end = entry.at + bytes;
    const uint8_t* id_field = entry.at;
    Cursor cie{id_field - entry.fixed<int32_t>(), nullptr};
    const auto cie_bytes = cie.fixed<uint32_t>();
    if (cie_bytes == kLongForm) {
        return false;
    }
    cie.end = cie.at + cie_bytes;
    cie.at += sizeof(uint32_t);  // the id that marks a CIE
    const auto version = cie.fixed<uint8_t>();
    const char* letters = reinterpret_cast<const char*>(cie.at);
    cie.at += std::strlen(letters) + 1;
    if (version != 1 && version != 3) {
        return false;
    }
    function.start = start;
    function.code_unit = cie.unsigned_leb();
    function.data_unit = cie.signed_leb();
    const uint64_t column = version == 1 ? cie.fixed<uint8_t>() : cie.unsigned_leb();
    const bool has_augmentation = letters[0] == 'z';
    const uint64_t augmentation_bytes = has_augmentation ? cie.unsigned_leb() : 0;
    uint8_t encoding = 0;
    if (column != kReturnAddressColumn || !read_augmentation(letters, cie, function, encoding)) {
        return false;
    }
    cie.at += augmentation_bytes;
    const size_t pointer_bytes = encoded_bytes(encoding);
    if (pointer_bytes == 0) {
        return false;
    }
    entry.at += 2 * pointer_bytes;  // start and length
    if (has_augmentation) {
        const uint64_t skipped = entry.unsigned_leb();
        entry.at += skipped;
    }
    function.common = cie;
    function.specific = entry;
    return true;
}

}  // namespace

bool find_cfi_entry(uint64_t code_address, CfiEntry* entry) {
    dwarf_eh_bases bases{};
    const void* fde = _Unwind_Find_FDE(reinterpret_cast<void*>(code_address), &bases);
    return fde != nullptr && read_function(static_cast<const uint8_t*>(fde),
                                           reinterpret_cast<uint64_t>(bases.function),
                                           *entry);
}

}  // namespace peakline::capture
