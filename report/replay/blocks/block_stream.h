// The blocks of a trace as its events make and free them. It keeps the only table of live blocks,
// the problems of the stream, and its start if the trace keeps only some events. Followers listen
// to it, several in one pass, and collect their own results.
#pragma once

#include <cstdint>
#include <optional>

#include "allocation_table.h"
#include "event_health.h"
#include "report/replay/values/phase.h"
#include "report/trace/reader.h"

namespace peakline::report {

// An allocation with all its properties.
struct BlockAlloc {
    uint64_t ordinal = 0;
    const AllocationShape& shape;  // its context is always defined
    uint64_t address = 0;
    EventTime at;
};

// A block leaves `allocated` when the program frees it (kPlain, kDeferred) and `requested` when it
// can be reused (kPlain, kCompleted).
struct BlockFree {
    uint64_t ordinal = 0;
    const AllocationShape& shape;
    FreeKind kind = FreeKind::kPlain;
    uint32_t context = 0;  // 0: not recorded
    EventTime at;

    bool leaves(format::Measure measure) const {
        return kind != (measure == format::Measure::kAllocated ? FreeKind::kCompleted
                                                               : FreeKind::kDeferred);
    }
};

// Autograd saves a live block for a backward pass: the first time.
struct BlockSaved {
    uint64_t ordinal = 0;
    uint32_t context = 0;  // of the operator that saves it
    EventTime at;
};

// The callbacks of a follower. Derive from it and hide the ones you need; nothing is virtual. The
// stream counts blocks without a readable definition and frees of unknown blocks, and does not pass
// them on.
struct BlockFollower {
    // Called before the first event of a stream that begins at a checkpoint.
    void restore(const Checkpoint&) {}
    // Called before each event, including those that are not passed on.
    void before_event(EventTime) {}
    void on_alloc(const BlockAlloc&) {}
    // Called while the block is still in the table.
    void on_free(const BlockFree&) {}
    // on_rare follows. Not called for blocks from before the first event.
    void on_saved(const BlockSaved&) {}
    // Called when the program's main has ended; on_rare follows.
    void on_main_end(EventTime) {}
    void on_rare(const RareEvent&, EventTime) {}
};

class BlockStream {
public:
    // `reader` must outlive the stream.
    explicit BlockStream(const TraceReader& reader)
        : reader_(reader), table_(reader.definitions().classes.items(), reader.max_alloc_count()) {}

    const TraceReader& reader() const { return reader_; }
    const Definitions& definitions() const { return reader_.definitions(); }
    // The live blocks, with ordinals below next_ordinal().
    const AllocationTable& table() const { return table_; }
    uint64_t next_ordinal() const { return next_ordinal_; }

    // Decodes all events, once. Each event goes to every follower before the next event is decoded.
    template <class... Followers>
    void run(const Progress& progress, Followers&... followers) {
        if (const Checkpoint* checkpoint = reader_.checkpoint()) {
            restore(*checkpoint);
            (followers.restore(*checkpoint), ...);
        }
        Pass<Followers...> pass(*this, followers...);
        totals_ = reader_.read_events(pass, progress);
    }

    // The same chunk by chunk, for callers that read the followers' results in between.
    template <class... Followers>
    class Steps;

    // Valid after run(), or the last step.
    const EventTotals& totals() const { return totals_; }
    EventTime end() const { return {event_count_, totals_.last_tick}; }
    bool tracing_seen() const { return health_.tracing_seen; }
    // Its last tick is the end of main, or the last event.
    TraceHealth health() const;

private:
    template <class Follower>
    struct Listener {
        explicit Listener(Follower& listener) : follower(listener) {}
        Follower& follower;
    };
    template <class... Followers>
    class Pass;

    void restore(const Checkpoint& checkpoint);
    // Replaces undefined ids. False for an impossible event.
    bool make_sense_of(RareEvent* event);
    // nullopt: an impossible event, or a block from before the first one.
    std::optional<uint64_t> ordinal_of(const format::SavedBlock& saved) const;
    // True for the mark that ends main.
    bool look_at(const RareEvent& event, uint64_t tick);

    const AllocationShape* add_class(uint64_t ordinal, uint32_t class_id) {
        next_ordinal_ = ordinal + 1;
        const AllocationShape* shape = table_.add_class(ordinal, class_id);
        health_.lost_definition_alloc_count += shape == nullptr ? 1 : 0;
        return shape;
    }
    AllocationShape add_inline(uint64_t ordinal, const AllocationShape& shape) {
        next_ordinal_ = ordinal + 1;
        AllocationShape known = shape;
        known.context = definitions().known_context(shape.context);
        known.untraced = definitions().is_untraced(known.context);
        health_.unknown_context_count += definitions().is_lost(shape.context) ? 1 : 0;
        known.stream = definitions().known_stream(shape.stream);
        health_.unknown_id_count += definitions().streams.has(shape.stream) ? 0 : 1;
        table_.add_inline(ordinal, known);
        return known;
    }

    const TraceReader& reader_;
    AllocationTable table_;
    uint64_t next_ordinal_ = 0;
    uint64_t event_count_ = 0;
    EventHealth health_;
    EventTotals totals_;
};

// The visitor of a pass, see event_decoder.h. Followers are of different types: each is a base.
template <class... Followers>
class BlockStream::Pass : Listener<Followers>... {
public:
    explicit Pass(BlockStream& stream, Followers&... followers)
        : Listener<Followers>(followers)..., stream_(stream) {}

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        const EventTime at = begin_event(tick);
        if (const AllocationShape* shape = stream_.add_class(ordinal, class_id)) {
            const BlockAlloc block{ordinal, *shape, address, at};
            (Listener<Followers>::follower.on_alloc(block), ...);
        }
    }

    void on_alloc_inline(uint64_t ordinal,
                         uint64_t tick,
                         const AllocationShape& shape,
                         uint64_t address) {
        const EventTime at = begin_event(tick);
        const AllocationShape known = stream_.add_inline(ordinal, shape);
        const BlockAlloc block{ordinal, known, address, at};
        (Listener<Followers>::follower.on_alloc(block), ...);
    }

    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t context) {
        const EventTime at = begin_event(tick);
        AllocationTable& table = stream_.table_;
        if (!table.can_free(ordinal, kind)) {
            ++stream_.health_.unmatched_free_count;
            return;
        }
        if (const AllocationShape* shape = table.shape(ordinal)) {
            const FreeKind rest = table.is_deferred(ordinal)    ? FreeKind::kCompleted
                                  : kind == FreeKind::kDeferred ? FreeKind::kDeferred
                                                                : FreeKind::kPlain;
            const BlockFree block{ordinal, *shape, rest, context, at};
            (Listener<Followers>::follower.on_free(block), ...);
        }
        table.free(ordinal, kind);
    }

    void on_unmatched_free(uint64_t tick) {
        begin_event(tick);
        ++stream_.health_.unmatched_free_count;
    }

    void on_rare(uint64_t tick, RareEvent event) {
        const EventTime at = begin_event(tick);
        if (!stream_.make_sense_of(&event)) {
            return;
        }
        if (const auto saved = event.as<format::SavedBlock>()) {
            if (const auto ordinal = stream_.ordinal_of(*saved)) {
                const BlockSaved block{*ordinal, static_cast<uint32_t>(saved->context), at};
                (Listener<Followers>::follower.on_saved(block), ...);
            }
        }
        if (stream_.look_at(event, tick)) {
            (Listener<Followers>::follower.on_main_end(at), ...);
        }
        (Listener<Followers>::follower.on_rare(event, at), ...);
    }

private:
    EventTime begin_event(uint64_t tick) {
        const EventTime at{stream_.event_count_++, tick};
        (Listener<Followers>::follower.before_event(at), ...);
        return at;
    }

    BlockStream& stream_;
};

template <class... Followers>
class BlockStream::Steps {
public:
    // All must outlive this.
    explicit Steps(BlockStream& stream, Followers&... followers)
        : stream_(stream),
          events_(stream.reader_.event_stream()),
          pass_(stream, followers...),
          decoder_(pass_, events_.position()) {
        if (const Checkpoint* checkpoint = stream.reader_.checkpoint()) {
            stream.restore(*checkpoint);
            (followers.restore(*checkpoint), ...);
        }
    }

    // Decodes a chunk. False: no chunk was left.
    bool next() {
        if (!events_.next_chunk()) {
            stream_.totals_ = events_.take_totals();
            return false;
        }
        events_.finish_chunk(decoder_.decode(events_.payload()));
        return true;
    }

private:
    BlockStream& stream_;
    EventStream events_;
    Pass<Followers...> pass_;
    EventDecoder<Pass<Followers...>> decoder_;
};

}  // namespace peakline::report
