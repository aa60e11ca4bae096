// The 128-bit hash of a raw stack. Hot path. Stacks deeper than 14 frames take xxHash's long form,
// which AVX2 halves; we are built for every x86-64, so the choice is made when we attach.
#pragma once

#include <cstddef>
#include <cstdint>

namespace peakline::pyhook {

struct StackHash {
    uint64_t low;
    uint64_t high;
};

// XXH3-128; both give the same value.
StackHash hash_stack_sse2(const void* bytes, size_t length);
StackHash hash_stack_avx2(const void* bytes, size_t length);

using StackHasher = StackHash (*)(const void* bytes, size_t length);
inline StackHasher best_stack_hasher() {
    return __builtin_cpu_supports("avx2") != 0 ? hash_stack_avx2 : hash_stack_sse2;
}

}  // namespace peakline::pyhook
