// What the keys that look at the life of a block share: each has a function that gives a block its
// Facet, what it has in common with equal blocks beyond the line that made it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "block_history.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// What a facet may ask beside the block itself.
struct FacetHelp {
    StackLookup& stacks;
    const BlockHistories& histories;
    // The others are filled in by by_category.cpp.
    std::map<uint32_t, uint32_t> native_kinds = {};           // by native node
    std::map<uint32_t, std::string> operators = {};           // by context
    std::optional<std::set<uint64_t>> attention_functions{};  // that attend, by name and file
};

using FacetOfBlock = Facet(const TrackedBlock&, const BlockHistory&, FacetHelp&);

// What reports of single blocks ask for by itself. See by_category.cpp.
FacetOfBlock category_facet;

}  // namespace peakline::report
