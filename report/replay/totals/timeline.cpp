#include "timeline.h"

#include <algorithm>
#include <utility>

#include "report/replay/blocks/block_stream.h"
#include "report/replay/values/device_names.h"
#include "timeline_builder.h"

namespace peakline::report {
namespace {

constexpr uint64_t kChunksPerPoint = 2;

// Follows every event. A block with a deferred free leaves the level when the program frees it.
class TimelineFollower : public BlockFollower {
public:
    TimelineFollower(const BlockStream& stream,
                     const TimelineRequest& request,
                     TimelineBuilder& builder)
        : request_(request), builder_(builder) {
        if (stream.reader().checkpoint() == nullptr) {
            builder_.set_level(0, 0);
        }
    }

    void restore(const Checkpoint& checkpoint) {
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            if (!block.is_deferred && counts(block.shape)) {
                add(ordinal, block.shape.block_bytes);
            }
        }
        builder_.set_level(checkpoint.tick, level_);
        follow_whole(checkpoint.tick);
    }
    void on_alloc(const BlockAlloc& block) {
        if (counts(block.shape)) {
            add(block.ordinal, block.shape.block_bytes);
            builder_.set_level(block.at.tick, level_);
            follow_whole(block.at.tick);
        }
    }
    void on_free(const BlockFree& block) {
        if (block.leaves(format::Measure::kAllocated) && counts(block.shape)) {
            add(block.ordinal, 0 - block.shape.block_bytes);
            builder_.set_level(block.at.tick, level_);
        }
    }

    uint64_t whole_peak_bytes() const { return whole_peak_bytes_; }
    uint64_t whole_peak_tick() const { return whole_peak_tick_; }

private:
    bool counts(const AllocationShape& shape) const {
        return is_counted(request_.device, shape.device);
    }
    // Frees wrap around, as the sums do.
    void add(uint64_t ordinal, uint64_t bytes) {
        const bool is_shown = request_.shown == nullptr || (*request_.shown)[ordinal];
        level_ += is_shown ? bytes : 0;
        whole_level_ += bytes;
    }
    void follow_whole(uint64_t tick) {
        if (whole_level_ > whole_peak_bytes_) {
            whole_peak_bytes_ = whole_level_;
            whole_peak_tick_ = tick;
        }
    }

    const TimelineRequest& request_;
    TimelineBuilder& builder_;
    uint64_t level_ = 0;
    uint64_t whole_level_ = 0;
    uint64_t whole_peak_bytes_ = 0;
    uint64_t whole_peak_tick_ = 0;
};

std::vector<const ChunkEntry*> event_chunks(const TraceReader& reader) {
    std::vector<const ChunkEntry*> chunks;
    for (const ChunkEntry& chunk : reader.chunks()) {
        if (chunk.is(format::ChunkType::kEvents)) {
            chunks.push_back(&chunk);
        }
    }
    return chunks;
}

}  // namespace

uint64_t first_event_tick(const TraceReader& reader) {
    const auto chunks = event_chunks(reader);
    return chunks.empty() ? 0 : chunks.front()->header.first_tick;
}

Timeline make_timeline(const TraceReader& reader,
                       const TimelineRequest& request,
                       const Progress& progress) {
    const auto chunks = event_chunks(reader);
    if (chunks.empty()) {
        return {};
    }
    const uint64_t begin = first_event_tick(reader);
    const uint64_t point_count = std::max<uint64_t>(request.point_count, 1);
    if (request.device.has_value() || request.shown != nullptr ||
        chunks.size() < kChunksPerPoint * point_count) {
        TimelineBuilder builder(begin, std::max(begin, reader.last_tick()), point_count);
        BlockStream stream(reader);
        TimelineFollower follower(stream, request, builder);
        stream.run(progress, follower);
        Timeline timeline = builder.finish();
        timeline.whole_peak_bytes = follower.whole_peak_bytes();
        timeline.whole_peak_tick = follower.whole_peak_tick();
        timeline.skipped_chunk_count = stream.totals().skipped_chunk_count;
        return timeline;
    }
    const uint64_t end = std::max(begin, chunks.back()->header.first_tick);
    TimelineBuilder builder(begin, end, point_count);
    for (const ChunkEntry* chunk : chunks) {
        builder.set_level(chunk->header.first_tick, chunk->header.live_bytes);
        builder.add_max(chunk->header.first_tick, chunk->header.max_live_bytes);
    }
    Timeline timeline = builder.finish();
    timeline.from_headers = true;
    timeline.whole_peak_bytes = timeline.peak_bytes;
    timeline.whole_peak_tick = timeline.peak_tick;
    timeline.skipped_chunk_count = static_cast<uint64_t>(
        std::count_if(reader.chunks().begin(), reader.chunks().end(), [](const ChunkEntry& p) {
            return !p.readable;
        }));
    return timeline;
}

}  // namespace peakline::report
