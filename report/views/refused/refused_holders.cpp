#include "refused_holders.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace peakline::report {
namespace {

// A search identifies allocations by ordinals of the whole run, which a bounded trace does not
// count.
using BlockName = std::tuple<uint64_t, uint64_t, uint32_t>;

class LiveThen {
public:
    LiveThen(const TraceReader& reader, const Autopsy& autopsy) {
        const Checkpoint* const checkpoint = reader.checkpoint();
        knows_ordinals_ = checkpoint == nullptr || checkpoint->first_event == 0;
        for (const TrackedBlock& one : autopsy.live) {
            names_.insert(
                knows_ordinals_
                    ? BlockName{one.ordinal, 0, 0}
                    : BlockName{one.facts.address, one.block.block_bytes, one.block.context});
        }
    }

    bool has(const format::Holder& block) const {
        return names_.count(knows_ordinals_
                                ? BlockName{block.ordinal, 0, 0}
                                : BlockName{block.address, block.block_bytes, block.context}) != 0;
    }

private:
    bool knows_ordinals_ = false;
    std::set<BlockName> names_;
};

void keep_only(const LiveThen& live, HolderList* list) {
    auto& rows = list->rows;
    rows.erase(std::remove_if(
                   rows.begin(), rows.end(), [&](const auto& row) { return !live.has(row.block); }),
               rows.end());
    list->found_count = list->found_bytes = list->total_bytes = 0;
    for (const HolderRow& row : rows) {
        list->total_bytes += row.block.block_bytes;
        list->found_count += row.holders.empty() ? 0 : 1;
        list->found_bytes += row.holders.empty() ? 0 : row.block.block_bytes;
    }
}

// A search examines the largest blocks: compare as many of the largest ones then with its result.
void count_gone(const Autopsy& autopsy, RefusedHolders* found) {
    std::vector<uint64_t> sizes;
    for (const TrackedBlock& one : autopsy.live) {
        sizes.push_back(one.block.block_bytes);
    }
    const size_t count = std::min<size_t>(sizes.size(), found->list.search.block_count);
    std::partial_sort(sizes.begin(),
                      sizes.begin() + static_cast<ptrdiff_t>(count),
                      sizes.end(),
                      [](uint64_t a, uint64_t b) { return a > b; });
    uint64_t largest_bytes = 0;
    for (size_t i = 0; i < count; ++i) {
        largest_bytes += sizes[i];
    }
    found->gone_bytes = largest_bytes - std::min(largest_bytes, found->list.total_bytes);
}

}  // namespace

std::optional<RefusedHolders> find_refused_holders(const TraceReader& reader,
                                                   const Autopsy& autopsy,
                                                   StackLookup& stacks) {
    const LiveThen live(reader, autopsy);
    std::map<uint32_t, std::map<uint64_t, uint64_t>> bytes_of;  // by search and block
    for (const BlockHolder& holder : stacks.definitions().holders) {
        if (live.has(holder)) {
            bytes_of[holder.search][holder.ordinal] = holder.block_bytes;
        }
    }
    std::optional<std::tuple<uint64_t, bool, uint64_t>> best;
    uint32_t chosen = 0;
    for (const format::HolderSearch& search : stacks.definitions().holder_searches) {
        uint64_t bytes = 0;
        for (const auto& [ordinal, block_bytes] : bytes_of[search.search]) {
            bytes += block_bytes;
        }
        const bool is_later = search.tick >= autopsy.refused.request.tick;
        const uint64_t number = search.search;
        const auto rank = std::make_tuple(bytes, is_later, is_later ? ~number : number);
        if (bytes != 0 && (!best || rank > *best)) {
            best = rank;
            chosen = search.search;
        }
    }
    if (!best) {
        return std::nullopt;
    }
    RefusedHolders found = {build_holders(reader.name(), chosen, stacks), 0};
    keep_only(live, &found.list);
    count_gone(autopsy, &found);
    return found;
}

}  // namespace peakline::report
