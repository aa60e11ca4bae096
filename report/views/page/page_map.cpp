#include "page_map.h"

#include <utility>
#include <vector>

#include "report/replay/blocks/block_stream.h"
#include "report/views/segments/live_addresses.h"

namespace peakline::report {
namespace {

class MapFollower : public BlockFollower {
public:
    // All must outlive this.
    MapFollower(const BlockStream& stream,
                const MapRequest& request,
                const AllFacts& facts,
                PageContexts& contexts)
        : stream_(stream),
          request_(request),
          facts_(facts),
          contexts_(contexts),
          addresses_(stream) {}

    void before_event(EventTime at);
    void on_alloc(const BlockAlloc& block);
    void on_free(const BlockFree& block);
    void on_main_end(EventTime at);
    void on_rare(const RareEvent& event, EventTime at);
    // After the pass.
    PageMaps finish();

private:
    // The peak may follow the end of main.
    bool is_done() const { return maps_.at_peak.has_value() && maps_.at_end.has_value(); }
    bool counts(const AllocationShape& shape) const { return shape.device == request_.device; }
    // The first moment of this height is the one that points of a page keep.
    void consider(uint64_t tick);
    void end_at(uint64_t tick);
    MemoryMap take(uint64_t tick);

    const BlockStream& stream_;
    MapRequest request_;
    const AllFacts& facts_;
    PageContexts& contexts_;
    LiveAddresses addresses_;
    SegmentRanges segments_;
    Height level_;
    bool is_shown_ = false;
    PageMaps maps_;
};

void MapFollower::before_event(EventTime at) {
    if (!is_shown_ && at.tick >= request_.from_tick) {
        is_shown_ = true;
        if (request_.from_tick > 0) {
            consider(request_.from_tick);
        }
    }
    if (is_shown_ && at.tick > request_.to_tick) {
        end_at(request_.to_tick);
    }
}

void MapFollower::on_alloc(const BlockAlloc& block) {
    if (is_done() || !counts(block.shape)) {
        return;
    }
    addresses_.on_alloc(block);
    level_.bytes += bytes_of(block.shape, request_.measure);
    consider(block.at.tick);
}

void MapFollower::on_free(const BlockFree& block) {
    if (is_done() || !counts(block.shape)) {
        return;
    }
    addresses_.on_free(block);
    if (block.leaves(request_.measure)) {
        level_.bytes -= bytes_of(block.shape, request_.measure);
        consider(block.at.tick);
    }
}

void MapFollower::on_main_end(EventTime at) {
    if (is_shown_) {
        end_at(at.tick);
    }
}

void MapFollower::on_rare(const RareEvent& event, EventTime at) {
    if (const auto segment = event.as<format::Segment>()) {
        if (segment->device == request_.device) {
            segments_.apply(*segment);
        }
    } else if (const auto mark = event.as<format::Mark>()) {
        if (mark->kind == format::MarkKind::kTracingStarted) {
            level_.traced = true;
            consider(at.tick);
        } else if (mark->kind == format::MarkKind::kTracingStopped) {
            level_.traced = false;
        }
    }
}

PageMaps MapFollower::finish() {
    if (!maps_.at_end.has_value()) {
        end_at(stream_.end().tick);
    }
    return std::move(maps_);
}

void MapFollower::consider(uint64_t tick) {
    const bool is_peak =
        level_.traced == request_.peak.traced && level_.bytes == request_.peak.bytes;
    if (is_shown_ && is_peak && !maps_.at_peak.has_value()) {
        maps_.at_peak = take(tick);
    }
}

void MapFollower::end_at(uint64_t tick) {
    if (!maps_.at_end.has_value()) {
        maps_.at_end = take(tick);
    }
}

MemoryMap MapFollower::take(uint64_t tick) {
    std::vector<MapBlock> blocks;
    const auto add = [&](uint64_t ordinal, const AllocationShape& shape, uint64_t address) {
        blocks.push_back({address,
                          shape.block_bytes,
                          contexts_.of(shape, ordinal, facts_.of(ordinal)),
                          stream_.table().is_deferred(ordinal)});
    };
    addresses_.for_each(add);
    MemoryMap map = make_memory_map(segments_.now(), std::move(blocks));
    map.tick = tick;
    return map;
}

}  // namespace

PageMaps build_maps(const TraceReader& reader,
                    const MapRequest& request,
                    const AllFacts& facts,
                    PageContexts& contexts,
                    const Progress& progress) {
    BlockStream stream(reader);
    MapFollower follower(stream, request, facts, contexts);
    stream.run(progress, follower);
    return follower.finish();
}

}  // namespace peakline::report
