// The table of the driver's functions that are answered here, and where the real ones are.
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

// nullptr: the driver is not there, or has no such function.
void* real_function(Entry entry);

// What a look-up by cuGetProcAddress, from `caller`, is to give instead of `found`, the driver's
// own answer.
void* answer_for(const char* name, int version, uint64_t flags, void* found, const void* caller);

}  // namespace peakline::driver
