#include "timeline.h"

#include <algorithm>
#include <utility>

#include "allocation_table.h"

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

// Decodes every event. Deferred frees leave the level when the program gave the block up.
class TimelineVisitor {
public:
    TimelineVisitor(const TraceReader& reader,
                    std::optional<uint32_t> device,
                    TimelineBuilder& builder)
        : device_(device),
          table_(reader.definitions().classes.items(), reader.max_alloc_count()),
          builder_(builder) {
        const Checkpoint* checkpoint = reader.checkpoint();
        if (checkpoint != nullptr) {
            restore(*checkpoint);
        }
        builder_.set_level(checkpoint != nullptr ? checkpoint->tick : 0, level_);
    }

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t) {
        const AllocationShape* shape = table_.add_class(ordinal, class_id);
        if (shape != nullptr) {
            add(tick, *shape);
        }
    }

    void on_alloc_inline(uint64_t ordinal, uint64_t tick, const AllocationShape& shape, uint64_t) {
        table_.add_inline(ordinal, shape);
        add(tick, shape);
    }

    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t) {
        if (!table_.can_free(ordinal, kind)) {
            return;
        }
        const AllocationShape* shape = table_.shape(ordinal);
        if (shape != nullptr && !table_.is_deferred(ordinal) && counts(*shape)) {
            level_ -= shape->block_bytes;
            builder_.set_level(tick, level_);
        }
        table_.free(ordinal, kind);
    }

    void on_unmatched_free(uint64_t) {}
    void on_rare(uint64_t, const RareEvent&) {}

private:
    void restore(const Checkpoint& checkpoint) {
        table_.restore(checkpoint);
        for (const BaselineBlock& block : checkpoint.blocks) {
            level_ += !block.is_deferred && counts(block.shape) ? block.shape.block_bytes : 0;
        }
    }
    bool counts(const AllocationShape& shape) const {
        return !device_.has_value() || shape.device == *device_;
    }
    void add(uint64_t tick, const AllocationShape& shape) {
        if (counts(shape)) {
            level_ += shape.block_bytes;
            builder_.set_level(tick, level_);
        }
    }

    std::optional<uint32_t> device_;
    AllocationTable table_;
    TimelineBuilder& builder_;
    uint64_t level_ = 0;
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
                       std::optional<uint32_t> device,
                       uint64_t point_count,
                       const Progress& progress) {
    const auto places = event_chunks(reader);
    if (places.empty()) {
        return {};
    }
    const uint64_t begin = places.front()->header.first_tick;
    point_count = std::max<uint64_t>(point_count, 1);
    if (device.has_value() || places.size() < kChunksPerPoint * point_count) {
        TimelineBuilder builder(begin, std::max(begin, reader.last_tick()), point_count);
        TimelineVisitor visitor(reader, device, builder);
        const EventTotals totals = reader.read_events(visitor, progress);
        Timeline timeline = builder.finish();
        timeline.skipped_chunk_count = totals.skipped_chunk_count;
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
    timeline.skipped_chunk_count = static_cast<uint64_t>(
        std::count_if(reader.chunks().begin(), reader.chunks().end(), [](const ChunkPlace& p) {
            return !p.readable;
        }));
    return timeline;
}

}  // namespace peakline::report
