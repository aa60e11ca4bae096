// Extra grouping keys derived from the life of a block. Each such key has a function that gives a
// block its Facet, which equal blocks of one line share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "block_history.h"
#include "report/attribute/stacks/stack_lookup.h"

namespace peakline::report {

// Data that a facet may use besides the block itself.
struct FacetHelp {
    StackLookup& stacks;
    const BlockHistories& histories;
    // by_category.cpp fills in the others.
    std::map<uint32_t, uint32_t> native_kinds = {};  // by native node
    std::map<uint32_t, std::string> operators = {};  // by context
    // functions that call attention, by name and file
    std::optional<std::set<uint64_t>> attention_functions{};
};

using FacetOfBlock = Facet(const TrackedBlock&, const BlockHistory&, FacetHelp&);

// Reports of single blocks call it directly. See by_category.cpp.
FacetOfBlock category_facet;

}  // namespace peakline::report
