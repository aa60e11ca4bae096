// Compiled for AVX2 whatever the flags of the build. Includes no C++ header with inline functions:
// the linker could keep this copy of them for processors that lack AVX2.
#include <immintrin.h>

#include "stack_hash.h"

// Both compilers need the target on xxHash's own functions; it picks its vectors by this macro.
#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2
#ifdef __clang__
#    pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#    pragma GCC push_options
#    pragma GCC target("avx2")
#endif

#include <xxhash.h>

namespace peakline::pyhook {

StackHash hash_stack_avx2(const void* bytes, size_t length) {
    const XXH128_hash_t hash = XXH3_128bits(bytes, length);
    // g++ does not end functions under the pragma with it, and every SSE instruction after that
    // would wait for the upper halves: 150 ns per capture.
    _mm256_zeroupper();
    return {hash.low64, hash.high64};
}

}  // namespace peakline::pyhook

#ifdef __clang__
#    pragma clang attribute pop
#else
#    pragma GCC pop_options
#endif
