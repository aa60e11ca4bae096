#include "timeline.h"

#include <algorithm>
#include <utility>

#include "report/replay/blocks/block_stream.h"

namespace peakline::report {
namespace {

constexpr uint64_t kChunksPerPoint = 2;

class TimelineBuilder {
public:
    TimelineBuilder(uint64_t begin_tick, uint64_t end_tick, uint64_t point_count)
        : begin_tick_(begin_tick),
          width_(std::max<uint64_t>(1, (end_tick - begin_tick) / point_count + 1)) {
        timeline_.end_tick = end_tick;
    }

    // `level`: from `tick` on.
    void set_level(uint64_t tick, uint64_t level) {
        pass_time(tick);
        level_ = level;
        held_max_ = level;
        if (timeline_.points.empty()) {
            add_point();
        }
        add_max(tick, level);
    }

    // Reached at some time from `tick` on, before the next level is set.
    void add_max(uint64_t tick, uint64_t bytes) {
        held_max_ = std::max(held_max_, bytes);
        TimelinePoint& point = timeline_.points.back();
        point.max_bytes = std::max(point.max_bytes, bytes);
        if (bytes > timeline_.peak_bytes) {
            timeline_.peak_bytes = bytes;
            timeline_.peak_tick = tick;
        }
    }

    Timeline finish() {
        pass_time(timeline_.end_tick);
        timeline_.end_bytes = level_;
        return std::move(timeline_);
    }

private:
    uint64_t next_begin() const { return begin_tick_ + timeline_.points.size() * width_; }

    void add_point() { timeline_.points.push_back({next_begin(), level_, held_max_}); }

    // A tick of a damaged trace beyond the end makes no more points.
    void pass_time(uint64_t tick) {
        while (!timeline_.points.empty() && next_begin() <= std::min(tick, timeline_.end_tick)) {
            add_point();
        }
    }

    uint64_t begin_tick_;
    uint64_t width_;
    uint64_t level_ = 0;
    uint64_t held_max_ = 0;  // may be reached until the next level is set
    Timeline timeline_;
};

// Follows every event. Deferred frees leave the level when the program frees the block.
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
        return !request_.device.has_value() || shape.device == *request_.device;
    }
    // Wraps around for what is freed, as the sums do.
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

std::vector<const ChunkPlace*> event_chunks(const TraceReader& reader) {
    std::vector<const ChunkPlace*> places;
    for (const ChunkPlace& place : reader.chunks()) {
        if (place.is(format::ChunkType::kEvents)) {
            places.push_back(&place);
        }
    }
    return places;
}

}  // namespace

Timeline make_timeline(const TraceReader& reader,
                       const TimelineRequest& request,
                       const Progress& progress) {
    const auto places = event_chunks(reader);
    if (places.empty()) {
        return {};
    }
    const uint64_t begin = places.front()->header.first_tick;
    const uint64_t point_count = std::max<uint64_t>(request.point_count, 1);
    if (request.device.has_value() || request.shown != nullptr ||
        places.size() < kChunksPerPoint * point_count) {
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
    const uint64_t end = std::max(begin, places.back()->header.first_tick);
    TimelineBuilder builder(begin, end, point_count);
    for (const ChunkPlace* place : places) {
        builder.set_level(place->header.first_tick, place->header.live_bytes);
        builder.add_max(place->header.first_tick, place->header.max_live_bytes);
    }
    Timeline timeline = builder.finish();
    timeline.from_headers = true;
    timeline.whole_peak_bytes = timeline.peak_bytes;
    timeline.whole_peak_tick = timeline.peak_tick;
    timeline.skipped_chunk_count = static_cast<uint64_t>(
        std::count_if(reader.chunks().begin(), reader.chunks().end(), [](const ChunkPlace& p) {
            return !p.readable;
        }));
    return timeline;
}

}  // namespace peakline::report
