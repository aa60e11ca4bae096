// The table of replaced driver functions, and the addresses of the real ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::driver {

#define HOOKED(symbol, name, version, is_per_thread) k_##symbol,
#define EARLIER(name, version)
enum class Entry : uint32_t {
#include "entry_points.inc"
};
#undef HOOKED
#undef EARLIER

// nullptr if the driver is not loaded or has no such function.
void* real_function(Entry entry);

// The function to return for a cuGetProcAddress lookup by `caller`, where the driver returned
// `found`.
void* answer_for(const char* name, int version, uint64_t flags, void* found, const void* caller);

}  // namespace peakline::driver
