// Rows of a page: the bytes of each line at one moment, summed over its contexts.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "page_buckets.h"
#include "page_contexts.h"

namespace peakline::report {

struct PageRow {
    uint32_t line = 0;
    uint64_t bytes = 0;
    uint64_t count = 0;
    CategoryLevels categories = {};
    // The bytes of a library's line by the id of the frame of the program that called it.
    std::map<uint32_t, uint64_t> callers = {};

    // The caller of most bytes; nullopt: the line is of the program itself.
    std::optional<uint32_t> main_caller() const;
};

// Largest first, then by line.
std::vector<PageRow> rows_by_line(const PageNames& names, std::span<const PageChange> live);

}  // namespace peakline::report
