// Memory without malloc: zeroed pages, which the kernel adds as they are used.
#pragma once

#include <cstddef>

#include <sys/mman.h>

namespace peakline::record {

// nullptr when the kernel refuses.
inline void* map_zeroed(size_t bytes) {
    void* const memory = mmap(
        nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

}  // namespace peakline::record
