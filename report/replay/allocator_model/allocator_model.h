// A model of torch's CUDA caching allocator for one device: the same requests in the same order
// lead to the same blocks in the same segments, under any settings. A ModelDevice answers for the
// driver. Depends on no other part: it knows neither traces nor reports.
//
// Note [What torch does]
// A request is rounded up and belongs to the small or the large blocks of its pool. It gets the
// smallest free block of its stream that is large enough. There is only this one candidate: if a
// rule refuses it, no other is tried. Then memory comes from the device. If the device refuses,
// torch releases its unused memory and tries again. A large remainder is split off. Freed blocks
// join their free neighbours.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <vector>

#include "allocator_rules.h"
#include "allocator_settings.h"
#include "model_blocks.h"
#include "model_device.h"
#include "report/replay/blocks/ordinal_table.h"

namespace peakline::report {

struct ModelCounts {
    uint64_t reserved_bytes = 0;
    uint64_t reserved_peak_bytes = 0;
    uint64_t device_allocs = 0;  // also pieces of expandable segments
    uint64_t device_frees = 0;
    uint64_t retries = 0;
    uint64_t out_of_memory = 0;
};

struct ModelRequest {
    uint64_t ordinal = 0;
    uint64_t requested_bytes = 0;
    uint64_t stream = 0;  // handle
    uint64_t pool = 0;    // target pool, 0: the default one
};

struct ModelRange {
    uint64_t address = 0;
    uint64_t bytes = 0;
};

class AllocatorModel {
public:
    struct Setup {
        AllocatorSettings settings;
        AllocatorRules rules;
        uint64_t device_bytes = 0;  // total; the fraction and expandable segments depend on it
        uint64_t max_alloc_count = 0;
    };
    // `device` must outlive the model.
    AllocatorModel(const Setup& setup, ModelDevice& device);

    // nullopt: out of memory.
    std::optional<ModelRange> allocate(const ModelRequest& request);
    // Restores a block of a graph's pool at its address, without a search. nullopt: no free block
    // begins at the address.
    std::optional<ModelRange> restore(const ModelRequest& request, uint64_t address);
    // The program frees the block; it can be reused after free_completed(). Unknown blocks are
    // ignored.
    void free_requested(uint64_t ordinal);
    void free_completed(uint64_t ordinal);
    // Both at once.
    void free(uint64_t ordinal);

    void apply(const format::AllocatorCall& call);
    void set_settings(const AllocatorSettings& settings);
    void set_fraction(double fraction) { fraction_ = fraction; }

    const ModelCounts& counts() const { return counts_; }
    // Whether a free block would serve the request.
    bool has_cached(const ModelRequest& request) const;
    const AllocatorSettings& settings() const { return settings_; }
    // Releases all unused memory to the device, as empty_cache() does.
    void release_cached();

private:
    // ---- blocks
    uint32_t order_of(const ModelBlock& block) const {
        return rules_.order == AllocatorRules::Order::kOldestSegment ? block.segment_number : 0;
    }
    FreeKey key_of(ModelIndex index) const;
    void put(ModelIndex index);
    void take(ModelIndex index);
    void put_unmapped(ModelIndex index);
    void take_unmapped(ModelIndex index);
    void link(ModelIndex index, ModelIndex before, ModelIndex after);
    void merge(ModelIndex into, ModelIndex other);
    void free_block(ModelIndex index);
    // Splits the first `bytes` off a block that is in no pool, and puts the rest. Returns the
    // first.
    ModelIndex split(ModelIndex index, uint64_t bytes);

    // ---- pools
    uint32_t pool_of(uint64_t rounded_bytes, ModelIndex owner) const;
    // kNoIndex: the default pool.
    ModelIndex private_pool(uint64_t number);
    ModelIndex find_private_pool(uint64_t number) const;
    PrivatePool* owner_of(uint32_t pool);
    static void change_pool(const format::AllocatorCall& call, PrivatePool* pool);

    // ---- requests
    struct Search {
        uint32_t pool;
        uint64_t stream;
        uint64_t bytes;  // rounded
    };
    ModelIndex find_free(const Search& search, bool use_expandable);
    // Returns the end of `pool.blocks` when there is none.
    std::pmr::set<FreeKey>::iterator skip_expandable(const Search& search,
                                                     std::pmr::set<FreeKey>::iterator at);
    uint64_t expandable_bytes(ModelIndex index) const;
    ModelIndex grow(const Search& search);
    ModelIndex grow_or_release(Search& search);
    ModelIndex find_in_serving_pools(Search& search);
    bool must_split(const ModelBlock& block, const Search& search) const;
    ModelRange hand_out(ModelIndex index, const ModelRequest& request);

    // ---- expandable segments
    ModelIndex grow_expandable(const Search& search);
    ModelIndex find_expandable(const Search& search);
    bool map(ModelIndex index, uint64_t bytes);
    void unmap(ModelIndex index);

    // ---- back to the device
    void release(ModelIndex index);
    void release_pool(uint32_t pool);
    void complete_waiting(ModelIndex owner);
    void release_private(ModelIndex owner);
    void collect_garbage();
    bool release_oversize(const Search& search);

    bool may_retry() const;
    uint64_t allowed_bytes() const;
    bool collects() const { return fraction_ < 1 && settings_.collection_threshold > 0; }
    void report(format::SegmentAction action, const ModelBlock& block);

    AllocatorSettings settings_;
    AllocatorRules rules_;
    uint64_t device_bytes_;
    double fraction_ = 1;
    ModelDevice& device_;
    ModelCounts counts_;
    std::pmr::unsynchronized_pool_resource nodes_;
    BlockSlots blocks_;
    // Large and small blocks of the default pool, then of each private one. They never move.
    std::deque<ModelPool> pools_;
    std::vector<PrivatePool> private_pools_;
    std::map<uint64_t, ModelIndex> private_by_number_;  // the newest pool of each number
    std::vector<ExpandableSegment> expandable_;
    OrdinalTable block_of_;       // of live blocks, plus one
    std::set<uint64_t> waiting_;  // ordinals
    uint32_t segment_count_ = 0;
    uint64_t capture_count_ = 0;
    uint64_t routing_count_ = 0;
};

}  // namespace peakline::report
