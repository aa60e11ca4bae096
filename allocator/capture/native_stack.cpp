#include "native_stack.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define XXH_INLINE_ALL
#include <algorithm>

#include <xxhash.h>

#include "module_map.h"

namespace peakline::capture {
namespace {

record::RawStackCache* g_cache = nullptr;
constexpr size_t kCacheCapacity = size_t{1} << 16;

// Root first, so that every parent exists before its child. `frames` is leaf first.
uint32_t intern_stack_slow(record::StackTable& table, void* const* frames, size_t count) {
    ModuleHit hits[kMaxNativeFrames];
    find_modules_slow(table, frames, count, hits);
    uint32_t node = 0;
    for (size_t i = count; i-- > 0;) {
        const auto address = reinterpret_cast<uint64_t>(frames[i]);
        const uint32_t frame =
            table.intern_native_frame(hits[i].module, address - hits[i].load_bias);
        node = table.intern_native_node(node, frame);
        if (node == 0) {
            return 0;
        }
    }
    return node;
}

}  // namespace

bool init_native_stacks() {
    if (g_cache != nullptr) {
        return true;
    }
    alignas(record::RawStackCache) static unsigned char storage[sizeof(record::RawStackCache)];
    auto* cache = new (storage) record::RawStackCache;
    if (!cache->init(kCacheCapacity)) {
        return false;
    }
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    g_cache = cache;
    return true;
}

uint32_t capture_native_stack(record::StackTable& table, ThreadState& state, uint32_t* flags) {
    if (g_cache == nullptr) {
        return 0;
    }
    const int found = unw_backtrace(state.native_frames, static_cast<int>(kMaxNativeFrames));
    if (found <= 0) {
        return 0;
    }
    const auto count = static_cast<size_t>(found);
    if (count == kMaxNativeFrames) {
        *flags |= format::kStackTruncated;
    }
    const XXH128_hash_t hash =
        XXH3_128bits(state.native_frames, count * sizeof state.native_frames[0]);
    uint32_t node = g_cache->find(hash.low64, hash.high64);
    if (node == 0) {
        node = intern_stack_slow(table, state.native_frames, count);
        if (node != 0) {
            g_cache->insert(hash.low64, hash.high64, node);
        } else {
            *flags |= format::kStackUnrecorded;
        }
    }
    return node;
}

}  // namespace peakline::capture
