// The build id that a linker wrote into a library: equal for equal builds only.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include <elf.h>
#include <link.h>

namespace peakline::capture {

// Raw bytes in the library's own memory; empty when it has none. For use in dl_iterate_phdr.
inline std::string_view find_build_id(const dl_phdr_info* library) {
    for (int i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = library->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) {
            continue;
        }
        const auto* at = reinterpret_cast<const char*>(library->dlpi_addr + segment.p_vaddr);
        const char* end = at + segment.p_memsz;
        while (at + sizeof(ElfW(Nhdr)) <= end) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* description = name + ((note.n_namesz + 3U) & ~3U);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
                std::memcmp(name, "GNU", 4) == 0 && description + note.n_descsz <= end) {
                return {description, note.n_descsz};
            }
            at = description + ((note.n_descsz + 3U) & ~3U);
        }
    }
    return {};
}

}  // namespace peakline::capture
