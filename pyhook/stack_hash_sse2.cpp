#include "stack_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace peakline::pyhook {

StackHash hash_stack_sse2(const void* bytes, size_t length) {
    const XXH128_hash_t hash = XXH3_128bits(bytes, length);
    return {hash.low64, hash.high64};
}

}  // namespace peakline::pyhook
