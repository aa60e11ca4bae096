// Batches of some thousands of decoded events, passed from the decoding thread to the replaying
// one. One thread fills and one replays; full and empty batches circulate in a BatchQueue.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "event_decoder.h"

namespace peakline::report {

struct EventBatch {
    static constexpr size_t kCapacity = 16384;

    enum class Kind : uint8_t { kAllocClass, kAllocInline, kFree, kUnmatchedFree, kRare };
    struct Event {
        uint64_t tick;
        uint64_t operand;  // address of an allocation, ordinal for a free
        uint32_t id;       // class; context of a free; index in `shapes` or `rare`
        Kind kind;
        FreeKind free_kind;
    };
    static_assert(sizeof(Event) == 24);

    uint64_t first_ordinal = 0;  // ordinal of the first allocation in the batch
    double fraction_done = 0;    // part of the trace decoded when the last whole chunk ended
    size_t count = 0;
    std::vector<Event> events;  // the first `count` are valid; grows to kCapacity on first use
    std::vector<AllocationShape> shapes;
    std::vector<RareEvent> rare;

    void clear() {
        count = 0;
        events.resize(kCapacity);
        shapes.clear();
        rare.clear();
    }

    // Passes the events to the visitor, see event_decoder.h.
    template <class Visitor>
    void replay_into(Visitor& visitor) const {
        uint64_t ordinal = first_ordinal;
        for (const Event* at = events.data(); at != events.data() + count; ++at) {
            const Event& event = *at;
            switch (event.kind) {
                case Kind::kAllocClass:
                    visitor.on_alloc_class(ordinal++, event.tick, event.id, event.operand);
                    break;
                case Kind::kAllocInline:
                    visitor.on_alloc_inline(ordinal++, event.tick, shapes[event.id], event.operand);
                    break;
                case Kind::kFree:
                    visitor.on_free(event.operand, event.tick, event.free_kind, event.id);
                    break;
                case Kind::kUnmatchedFree:
                    visitor.on_unmatched_free(event.tick);
                    break;
                case Kind::kRare:
                    visitor.on_rare(event.tick, rare[event.id]);
                    break;
            }
        }
    }
};

// A bounded queue. Every function may throw std::system_error, as locks do.
class BatchQueue {
public:
    BatchQueue();
    BatchQueue(const BatchQueue&) = delete;
    BatchQueue& operator=(const BatchQueue&) = delete;

    // For the filling thread. Returns an empty batch, or nullptr when the other side cancelled.
    EventBatch* take_empty();
    void put_full(EventBatch* batch);
    // Ends the stream. `error`: the exception that ended it, if any.
    void end(std::exception_ptr error);

    // For the replaying thread. Returns nullptr at the end; rethrows the exception given to end().
    EventBatch* take_full();
    void put_empty(EventBatch* batch);
    // Tells the filling thread to stop.
    void cancel();

private:
    // On a busy machine each thread runs for some milliseconds while the other waits for its turn.
    // The queue has room for the events decoded meanwhile; mostly a few batches are used.
    static constexpr size_t kBatches = 32;

    std::array<EventBatch, kBatches> batches_;
    std::mutex lock_;
    std::condition_variable changed_;
    // Guarded by lock_.
    std::vector<EventBatch*> empty_;
    std::vector<EventBatch*> full_;  // the oldest first
    bool is_ended_ = false;
    bool is_cancelled_ = false;
    std::exception_ptr error_;
};

// BatchFiller throws it after cancel().
struct FillingCancelled {};

// A visitor that fills batches.
class BatchFiller {
public:
    explicit BatchFiller(BatchQueue& queue) : queue_(queue) {}

    void on_alloc_class(uint64_t ordinal, uint64_t tick, uint32_t class_id, uint64_t address) {
        put_alloc(ordinal, {tick, address, class_id, EventBatch::Kind::kAllocClass, {}});
    }
    void on_alloc_inline(uint64_t ordinal,
                         uint64_t tick,
                         const AllocationShape& shape,
                         uint64_t address) {
        EventBatch& batch = room();
        const auto index = static_cast<uint32_t>(batch.shapes.size());
        batch.shapes.push_back(shape);
        put_alloc(ordinal, {tick, address, index, EventBatch::Kind::kAllocInline, {}});
    }
    void on_free(uint64_t ordinal, uint64_t tick, FreeKind kind, uint32_t context) {
        put({tick, ordinal, context, EventBatch::Kind::kFree, kind});
    }
    void on_unmatched_free(uint64_t tick) {
        put({tick, 0, 0, EventBatch::Kind::kUnmatchedFree, {}});
    }
    void on_rare(uint64_t tick, const RareEvent& event) {
        EventBatch& batch = room();
        const auto index = static_cast<uint32_t>(batch.rare.size());
        batch.rare.push_back(event);
        put({tick, 0, index, EventBatch::Kind::kRare, {}});
    }

    // Call it after each chunk: the next one may continue at another ordinal.
    void end_chunk(double fraction_done) {
        fraction_done_ = fraction_done;
        flush();
    }

private:
    EventBatch& room() {
        if (at_ == end_) {
            next_batch_slow();
        }
        return *batch_;
    }

    void put(const EventBatch::Event& event) {
        room();
        *at_++ = event;
    }

    void put_alloc(uint64_t ordinal, const EventBatch::Event& event) {
        EventBatch& batch = room();
        if (!has_ordinal_) {
            batch.first_ordinal = ordinal;
            has_ordinal_ = true;
        }
        *at_++ = event;
    }

    [[gnu::noinline]] void next_batch_slow() {
        flush();
        batch_ = queue_.take_empty();
        if (batch_ == nullptr) {
            throw FillingCancelled();
        }
        batch_->clear();
        at_ = batch_->events.data();
        end_ = at_ + EventBatch::kCapacity;
        has_ordinal_ = false;
    }

    void flush() {
        if (batch_ != nullptr) {
            batch_->count = static_cast<size_t>(at_ - batch_->events.data());
            batch_->fraction_done = fraction_done_;
            queue_.put_full(batch_);
            batch_ = nullptr;
            at_ = end_ = nullptr;
        }
    }

    BatchQueue& queue_;
    EventBatch* batch_ = nullptr;
    EventBatch::Event* at_ = nullptr;  // position of the next event, and the end of the batch
    EventBatch::Event* end_ = nullptr;
    double fraction_done_ = 0;
    bool has_ordinal_ = false;
};

}  // namespace peakline::report
