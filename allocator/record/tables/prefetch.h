// Fetches memory into the caches before it is needed.
#pragma once

#include <cstddef>

namespace peakline::record {

inline constexpr size_t kCacheLine = 64;

// The first `lines` cache lines from `start`, which begins one.
inline void prefetch_lines(const void* start, size_t lines) {
    for (size_t line = 0; line < lines; ++line) {
        __builtin_prefetch(static_cast<const char*>(start) + line * kCacheLine);
    }
}

}  // namespace peakline::record
