#include "holders.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

using format::HolderKind;
using format::HoldReason;

uint64_t bytes_of(const Definitions& definitions, const format::HolderSearch& search) {
    uint64_t bytes = 0;
    uint64_t last = UINT64_MAX;
    for (const BlockHolder& holder : definitions.holders) {
        if (holder.search == search.search && holder.ordinal != last) {
            bytes += holder.block_bytes;
            last = holder.ordinal;
        }
    }
    return bytes;
}

// When the main function has returned, most of the memory it held is gone.
const format::HolderSearch& latest_useful_search(const Definitions& definitions) {
    const auto& searches = definitions.holder_searches;
    const format::HolderSearch& last = searches.back();
    const auto main =
        std::find_if(searches.rbegin(), searches.rend(), [](const format::HolderSearch& search) {
            return search.reason == HoldReason::kMain;
        });
    const bool is_main_better = last.reason == HoldReason::kEnd && main != searches.rend() &&
                                bytes_of(definitions, last) < bytes_of(definitions, *main) / 2;
    return is_main_better ? *main : last;
}

const format::HolderSearch& find_search(const std::string& trace_name,
                                        uint32_t number,
                                        const Definitions& definitions) {
    const auto& searches = definitions.holder_searches;
    if (searches.empty()) {
        throw TraceError(trace_name +
                         ": this recording has no search for holders; make one with peakline run "
                         "--hold STEP, or with peakline.holders() in the program");
    }
    const auto found = std::find_if(searches.begin(), searches.end(), [&](const auto& search) {
        return number != 0 && search.search == number;
    });
    if (number != 0 && found == searches.end()) {
        throw TraceError(trace_name + ": has no search " + std::to_string(number) + ", only 1 to " +
                         std::to_string(searches.back().search));
    }
    return number == 0 ? latest_useful_search(definitions) : *found;
}

HolderRow make_row(const format::Holder& block, StackLookup& stacks) {
    BlockGroup group;
    group.context = block.context;
    group.stream = block.stream;
    group.device = block.device;
    group.tensor = stacks.definitions().tensor_of(block.ordinal);
    HolderRow row;
    row.block = block;
    row.made_at = find_grouping("line").row_of(stacks, group).label;
    row.module = find_grouping("module").row_of(stacks, group).label.name;
    if (group.tensor != 0) {
        row.name = find_grouping("tensor").row_of(stacks, group).label.name;
    }
    return row;
}

}  // namespace

HolderList build_holders(const std::string& trace_name, uint32_t number, StackLookup& stacks) {
    const Definitions& definitions = stacks.definitions();
    HolderList list;
    list.search = find_search(trace_name, number, definitions);
    std::map<uint64_t, size_t> row_by_ordinal;
    for (const BlockHolder& holder : definitions.holders) {
        if (holder.search != list.search.search) {
            continue;
        }
        const auto [at, is_new] = row_by_ordinal.try_emplace(holder.ordinal, list.rows.size());
        if (is_new) {
            list.rows.push_back(make_row(holder, stacks));
        }
        HolderRow& row = list.rows[at->second];
        if (holder.kind != HolderKind::kNone) {
            row.holders.push_back(&holder);
            row.more_count += holder.more_count;
        }
    }
    for (const HolderRow& row : list.rows) {
        list.total_bytes += row.block.block_bytes;
        list.found_count += row.holders.empty() ? 0 : 1;
        list.found_bytes += row.holders.empty() ? 0 : row.block.block_bytes;
    }
    std::sort(list.rows.begin(), list.rows.end(), [](const HolderRow& a, const HolderRow& b) {
        return std::tie(b.block.block_bytes, a.block.ordinal) <
               std::tie(a.block.block_bytes, b.block.ordinal);
    });
    return list;
}

const char* reason_name(HoldReason reason) {
    switch (reason) {
        case HoldReason::kAsked:
            return "asked";
        case HoldReason::kStep:
            return "step";
        case HoldReason::kSignal:
            return "signal";
        case HoldReason::kOutOfMemory:
            return "out of memory";
        case HoldReason::kEnd:
            return "end";
        case HoldReason::kMain:
            return "return";
        case HoldReason::kBatch:
            return "batch";
        case HoldReason::kMark:
            return "marked step";
    }
    return "unknown";
}

const char* kind_name(HolderKind kind) {
    const auto index = static_cast<size_t>(kind);
    return index < std::size(format::kHolderKindNames) ? format::kHolderKindNames[index]
                                                       : "unknown";
}

HolderIndex::HolderIndex(const Definitions& definitions) {
    for (const BlockHolder& holder : definitions.holders) {
        if (holder.kind != HolderKind::kNone) {
            by_ordinal_.push_back(&holder);
        }
    }
    // Sort the last search of a block first, and its shortest path first.
    std::stable_sort(by_ordinal_.begin(), by_ordinal_.end(), [](const auto* a, const auto* b) {
        return std::tie(a->ordinal, b->search) < std::tie(b->ordinal, a->search);
    });
}

const BlockHolder* HolderIndex::find(uint64_t ordinal) const {
    const auto found = std::lower_bound(
        by_ordinal_.begin(), by_ordinal_.end(), ordinal, [](const auto* holder, uint64_t wanted) {
            return holder->ordinal < wanted;
        });
    return found != by_ordinal_.end() && (*found)->ordinal == ordinal ? *found : nullptr;
}

}  // namespace peakline::report
