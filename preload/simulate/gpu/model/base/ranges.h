// First-fit allocation from a set of free address ranges, with coalescing. Used for device
// addresses (2 MiB granules), small blocks inside one granule, and memory pools. It never touches
// the memory at these addresses. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace simgpu {

constexpr size_t round_up(size_t bytes, size_t multiple) {
    return (bytes + multiple - 1) / multiple * multiple;
}

class FreeRanges {
public:
    // Returns 0 when no free range is large enough.
    uintptr_t take(size_t bytes, size_t alignment);

    // The range must not overlap a free one. Merges it with adjacent free ranges.
    void give(uintptr_t start, size_t bytes);

    // Takes exactly this range if all of it is free.
    bool take_exactly(uintptr_t start, size_t bytes);

    bool contains(uintptr_t start, size_t bytes) const;

private:
    std::map<uintptr_t, size_t> ranges_;  // start -> bytes, never adjacent
};

}  // namespace simgpu
