// Totals of a page's contexts over the shown range: allocated bytes and blocks, the temporary part
// of them, and the part left at the end.
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
// before it is freed: memray's rule, with its default. A trace does not record the thread of a
// free, so a free by another thread counts as well.
inline constexpr size_t kTemporaryOthers = 1;

// Detects temporary blocks among the freed ones. Allocations on every device count as others.
class TemporaryBlocks {
public:
    // `is_wanted`: whether the block may be reported.
    void on_alloc(uint32_t thread, uint64_t ordinal, bool is_wanted);
    bool is_temporary(uint32_t thread, uint64_t ordinal) const;

private:
    struct Newest {
        std::array<uint64_t, kTemporaryOthers + 1> ordinals = {};  // ordinals plus one; 0: none
        size_t next = 0;
    };
    std::vector<Newest> threads_;  // by id
};

// By context, up to the largest one with any totals.
struct PageTotals {
    std::vector<BytesAndCount> allocated;  // while tracing was on
    std::vector<BytesAndCount> temporary;  // the temporary part
    std::vector<BytesAndCount> left;       // live at the end of main, or of the range

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
