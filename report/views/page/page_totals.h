// What the contexts of a page did over the whole range that is shown: bytes and blocks they
// allocated, how much of that was temporary, and what of it is left at the end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "page_buckets.h"

namespace peakline::report {

struct BytesAndCount {
    uint64_t bytes = 0;
    uint64_t count = 0;
};

// Note [Temporary allocations]
// An allocation is temporary when its thread makes at most kTemporaryOthers other allocations
// before it is freed: memray's rule, with its default. A trace does not say which thread frees, so
// a free by another thread counts as well.
inline constexpr size_t kTemporaryOthers = 1;

// Which of the blocks that are freed are temporary. Allocations of every device count as others.
class TemporaryBlocks {
public:
    // `is_wanted`: whether it may be one of those found.
    void on_alloc(uint32_t thread, uint64_t ordinal, bool is_wanted);
    bool is_temporary(uint32_t thread, uint64_t ordinal) const;

private:
    struct Newest {
        std::array<uint64_t, kTemporaryOthers + 1> ordinals = {};  // plus one; 0: none
        size_t next = 0;
    };
    std::vector<Newest> threads_;  // by id
};

// By context, as long as the largest one that did anything.
struct PageTotals {
    std::vector<BytesAndCount> allocated;  // while tracing was on
    std::vector<BytesAndCount> temporary;  // the part of these that was
    std::vector<BytesAndCount> left;       // live where main ended, or at the end of the range

    void add_allocated(uint32_t context, uint64_t bytes) { add(allocated, context, bytes); }
    void add_temporary(uint32_t context, uint64_t bytes) { add(temporary, context, bytes); }
    void set_left(const std::vector<PageChange>& live);

private:
    static void add(std::vector<BytesAndCount>& sums, uint32_t context, uint64_t bytes) {
        if (context >= sums.size()) {
            sums.resize(context + 1);
        }
        sums[context].bytes += bytes;
        ++sums[context].count;
    }
};

}  // namespace peakline::report
