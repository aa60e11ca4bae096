#include "refused_segments.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "allocator/record/levels/device_use.h"
#include "report/attribute/grouping.h"
#include "report/views/segments/live_addresses.h"

namespace peakline::report {
namespace {

// Builds the map of the device at the refusal.
class MapOfRequest : public BlockFollower {
public:
    // Both must outlive this.
    MapOfRequest(const BlockStream& stream, const RefusedRequest& refused)
        : stream_(stream), refused_(refused), addresses_(stream) {}

    void restore(const Checkpoint& checkpoint) {
        addresses_.restore(checkpoint, refused_.request.device);
        const auto use = checkpoint.standing->uses.find(refused_.request.device);
        use_ = use != checkpoint.standing->uses.end() ? use->second : use_;
        bool is_ours = false;  // whether the previous segment is on the device
        for (const RareEvent& event : checkpoint.standing->records) {
            if (const auto segment = event.as<format::Segment>()) {
                is_ours = segment->device == refused_.request.device;
                if (is_ours) {
                    segments_.apply(*segment);
                    last_address_ = segment->address;
                }
            } else if (const auto in_pool = event.as<format::InPool>(); in_pool && is_ours) {
                pools_[last_address_] = in_pool->pool;
            }
        }
    }

    void on_alloc(const BlockAlloc& block) {
        if (counts(block.shape)) {
            addresses_.on_alloc(block);
        }
    }

    void on_free(const BlockFree& block) {
        if (counts(block.shape)) {
            addresses_.on_free(block);
        }
    }

    void on_rare(const RareEvent& event, EventTime at) {
        const auto processes = event.as<format::DeviceProcesses>();
        // Facts in the first record after the refusal were true before it.
        if (processes && processes->device == refused_.request.device &&
            processes->other_bytes <= kMaxBlockBytes && !(is_taken_ && use_.knows_others)) {
            use_.apply(*processes);
        }
        const auto segment = event.as<format::Segment>();
        if (segment && segment->device == refused_.request.device) {
            segments_.apply(*segment);
            last_address_ = segment->address;
            if (!is_taken_ && segment->action == format::SegmentAction::kFree) {
                pools_.erase(segment->address);
            }
        } else if (at.event == refused_.event) {
            take();
        } else if (const auto in_pool = event.as<format::InPool>()) {
            note_pool(in_pool->pool, at.event);
        }
    }

    const MemoryMap& map() const { return map_; }
    // 0: the default pool.
    uint64_t pool_of_request() const { return pool_of_request_; }
    std::optional<uint64_t> other_process_bytes() const {
        return use_.knows_others ? std::optional(use_.other_bytes) : std::nullopt;
    }
    uint64_t pool_of(const MapSegment& segment) const {
        const auto found = pools_.find(segment.range.address);
        return found == pools_.end() ? 0 : found->second;
    }

private:
    bool counts(const AllocationShape& shape) const {
        return shape.device == refused_.request.device;
    }

    // The record comes after that of a segment, or after the refusal.
    void note_pool(uint64_t pool, uint64_t event) {
        if (!is_taken_) {
            pools_[last_address_] = pool;
        } else if (event == refused_.event + kEventsToPool) {
            pool_of_request_ = pool;
        }
    }

    void take() {
        is_taken_ = true;
        std::vector<MapBlock> blocks;
        const auto add = [&](uint64_t ordinal, const AllocationShape& shape, uint64_t address) {
            const bool is_waiting = stream_.table().is_deferred(ordinal);
            blocks.push_back({address, shape.block_bytes, shape.context, is_waiting});
        };
        addresses_.for_each(add);
        const size_t count = blocks.size();
        map_ = make_memory_map(segments_.now(), std::move(blocks), count);
    }

    const BlockStream& stream_;
    const RefusedRequest& refused_;
    LiveAddresses addresses_;
    SegmentRanges segments_;
    record::DeviceUse use_;
    MemoryMap map_;
    // OutOfMemory, Refusal, InPool.
    static constexpr uint64_t kEventsToPool = 2;
    bool is_taken_ = false;
    uint64_t last_address_ = 0;
    std::map<uint64_t, uint64_t> pools_;  // private pools, by address of a segment
    uint64_t pool_of_request_ = 0;
};

using BlocksOfSegment = std::pair<const MapBlock*, const MapBlock*>;

bool is_small_pool(const MapSegment& segment, BlocksOfSegment blocks) {
    return std::any_of(
               blocks.first,
               blocks.second,
               [](const MapBlock& block) { return block.bytes <= RefusedSegments::kSmallBytes; }) ||
           (!segment.range.is_expandable &&
            segment.range.bytes == RefusedSegments::kSmallSegmentBytes);
}

// Sums free pieces, and the blocks next to them.
class Pieces {
public:
    explicit Pieces(StackLookup& stacks) : stacks_(stacks) {}

    void add(const MapSegment& segment, BlocksOfSegment blocks) {
        sums_.bytes += segment.free_bytes();
        sums_.count += segment.hole_count;
        sums_.largest_bytes = std::max(sums_.largest_bytes, segment.largest_hole_bytes);
        std::set<PinningRow*> rows;
        for (const MapBlock* block = blocks.first; block != blocks.second; ++block) {
            PinningRow& row = row_of(block->context);
            row.bytes += block->bytes;
            ++row.count;
            rows.insert(&row);
        }
        for (PinningRow* const row : rows) {
            row->free_bytes += segment.free_bytes();
        }
    }

    FreePieces take() {
        std::vector<PinningRow>& rows = sums_.pins;
        for (auto& [key, row] : rows_) {
            rows.push_back(std::move(row));
        }
        std::stable_sort(rows.begin(), rows.end(), [](const PinningRow& a, const PinningRow& b) {
            return a.free_bytes != b.free_bytes ? a.free_bytes > b.free_bytes : a.bytes < b.bytes;
        });
        rows.resize(std::min(rows.size(), RefusedSegments::kMaxPins));
        return std::move(sums_);
    }

private:
    PinningRow& row_of(uint32_t context) {
        PinningRow*& row = of_context_[context];
        if (row == nullptr) {
            BlockGroup group;
            group.context = context;
            Label label = row_by_line(stacks_, group).label;
            const std::string key = label.key;
            row = &rows_.try_emplace(key, PinningRow{std::move(label)}).first->second;
        }
        return *row;
    }

    StackLookup& stacks_;
    FreePieces sums_;
    std::map<uint32_t, PinningRow*> of_context_;
    std::map<std::string, PinningRow> rows_;  // by key
};

RefusedSegments measure(const MapOfRequest& at_request,
                        const RefusedRequest& refused,
                        StackLookup& stacks) {
    const MemoryMap& map = at_request.map();
    RefusedSegments found;
    found.is_in_own_pool = at_request.pool_of_request() != 0;
    found.other_process_bytes = at_request.other_process_bytes();
    Pieces usable(stacks);
    Pieces pinned(stacks);
    Pieces of_other_pools(stacks);
    const bool needs_small = refused.asked_bytes <= RefusedSegments::kSmallBytes;
    const MapBlock* next = map.blocks.data();
    for (const MapSegment& segment : map.segments) {
        const BlocksOfSegment blocks = {next, map.blocks.data() + segment.block_end};
        next = blocks.second;
        found.reserved_bytes += segment.range.bytes;
        found.free_bytes += segment.free_bytes();
        for (const MapBlock* block = blocks.first; block != blocks.second; ++block) {
            found.waiting_bytes += block->is_waiting ? block->bytes : 0;
        }
        if (segment.hole_count == 0) {
            continue;
        }
        const bool is_of_kind = is_small_pool(segment, blocks) == needs_small;
        if (at_request.pool_of(segment) != at_request.pool_of_request()) {
            of_other_pools.add(segment, blocks);
            continue;
        }
        pinned.add(segment, blocks);
        if (is_of_kind && segment.range.stream == refused.stream) {
            usable.add(segment, blocks);
        } else if (is_of_kind) {
            found.largest_of_other_streams_bytes =
                std::max(found.largest_of_other_streams_bytes, segment.largest_hole_bytes);
        }
    }
    found.usable = usable.take();
    found.pinned = pinned.take();
    found.of_other_pools = of_other_pools.take();
    return found;
}

std::optional<RefusedSegments> sums_of(const EarlierRefusal& earlier) {
    const uint64_t taken = earlier.live_bytes + earlier.waiting_bytes;
    if (earlier.reserved_bytes < taken) {
        return std::nullopt;
    }
    RefusedSegments sums;
    sums.reserved_bytes = earlier.reserved_bytes;
    sums.waiting_bytes = earlier.waiting_bytes;
    sums.free_bytes = earlier.reserved_bytes - taken;
    sums.knows_pieces = false;
    return sums;
}

}  // namespace

std::optional<RefusedSegments> find_refused_segments(const TraceReader& reader,
                                                     const RefusedRequest& refused,
                                                     StackLookup& stacks,
                                                     const Progress& progress) {
    if (!reader.knows_standing()) {
        return std::nullopt;
    }
    if (refused.earlier != nullptr) {
        return sums_of(*refused.earlier);
    }
    BlockStream stream(reader);
    MapOfRequest follower(stream, refused);
    stream.run(progress, follower);
    if (follower.map().segments.empty() && refused.live_bytes != 0) {
        return std::nullopt;
    }
    return measure(follower, refused, stacks);
}

}  // namespace peakline::report
