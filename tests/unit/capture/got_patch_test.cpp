// Which pages of a library the loader made read-only.
#include "allocator/capture/libraries/got_patch.h"

#include <link.h>

#include "tests/unit/catching.h"

namespace peakline::capture {
namespace {

const void* at(uint64_t address) {
    return reinterpret_cast<const void*>(address);
}

TEST_CASE("both ends of a read-only range are rounded down to a page", "[capture]") {
    ElfW(Phdr) segments[2] = {};
    segments[0].p_type = PT_LOAD;
    segments[0].p_memsz = 0x9000;
    segments[1].p_type = PT_GNU_RELRO;
    segments[1].p_vaddr = 0x3e08;
    segments[1].p_memsz = 0x21f8;  // up to 0x6000
    dl_phdr_info library = {};
    library.dlpi_addr = 0x100000;
    library.dlpi_phdr = segments;
    library.dlpi_phnum = 2;
    CHECK(!is_read_only(&library, at(0x102ff8)));
    CHECK(is_read_only(&library, at(0x103000)));  // before the range, on its first page
    CHECK(is_read_only(&library, at(0x105ff8)));
    CHECK(!is_read_only(&library, at(0x106000)));
    segments[1].p_memsz = 0x2100;  // ends within a page, which other data shares
    CHECK(is_read_only(&library, at(0x104ff8)));
    CHECK(!is_read_only(&library, at(0x105000)));
    CHECK(!is_read_only(&library, at(0x105f00)));
}

}  // namespace
}  // namespace peakline::capture
