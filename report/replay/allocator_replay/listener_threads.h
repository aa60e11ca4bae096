// Passes the events of AllocatorEvents on to several listeners, in batches of some thousand events,
// on as many threads as there are cores. Models of the allocator take far longer than reading the
// events, and are independent of each other. Each listener gets all events in order, as it would
// without threads, from one thread at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "allocator_events.h"

namespace peakline::report {

enum class Threading {
    kWhereItPays,  // if there are cores and the trace is long
    kHere,         // no threads
    kAlways,
};

class ListenerThreads final : public AllocatorListener {
public:
    // The listeners must outlive this. `chunk_count`: of the trace.
    ListenerThreads(const std::vector<AllocatorListener*>& listeners,
                    Threading threading,
                    size_t chunk_count);
    // Stops the threads early and joins them.
    ~ListenerThreads() override;

    void on_request(const RecordedRequest& request) override;
    void on_refused(const RecordedRequest& request, uint64_t free_bytes) override;
    void on_free_requested(uint64_t ordinal) override;
    void on_free_completed(uint64_t ordinal) override;
    void on_freed(uint64_t ordinal) override;
    void on_segment(const SegmentChange& change, EventTime at) override;
    void on_call(const format::AllocatorCall& call) override;
    void on_settings(const AllocatorSettings& settings) override;
    void on_memory(const format::DeviceMemory& memory) override;
    void on_others(uint64_t bytes) override;
    void on_event(EventTime at) override;

    // Call it after the last event: waits until every listener has seen all events. Rethrows a
    // listener's exception.
    void finish();

private:
    enum class Kind : uint8_t {
        kRequest,
        kRefused,
        kFreeRequested,
        kFreeCompleted,
        kFreed,
        kSegment,
        kCall,
        kSettings,
        kMemory,
        kOthers,
        kEvent,
    };
    struct Operation {
        uint64_t operand;  // ordinal or bytes
        uint32_t index;    // index in the vector of its kind
        Kind kind;
    };
    struct Segment {
        SegmentChange change;
        EventTime at;
    };
    struct Batch {
        std::vector<Operation> operations;
        std::vector<RecordedRequest> requests;
        std::vector<Segment> segments;
        std::vector<format::AllocatorCall> calls;
        std::vector<AllocatorSettings> settings;
        std::vector<format::DeviceMemory> memory;
        std::vector<EventTime> events;

        void clear();
        void replay_into(AllocatorListener& listener) const;
    };
    struct Reader {
        AllocatorListener* listener = nullptr;
        uint64_t read_count = 0;  // batches
        bool is_busy = false;
    };
    static constexpr size_t kBatchOperations = 4096;
    static constexpr size_t kBatches = 8;

    void add(Kind kind, uint64_t operand, size_t index = 0);
    Batch& open() { return batches_[put_count_ % kBatches]; }
    void start(size_t thread_count);
    void put_batch();
    void work();
    // Called with lock_ held. nullptr: no reader has a batch to read.
    Reader* next_reader();
    uint64_t least_read() const;

    std::vector<Reader> readers_;
    // empty: listeners are called on the thread that adds batches
    std::vector<std::thread> threads_;
    std::vector<Batch> batches_;  // a ring
    std::mutex lock_;
    std::condition_variable changed_;
    // Guarded by lock_, as are the readers.
    uint64_t put_count_ = 0;  // batches; only the adding thread writes it
    bool is_ended_ = false;
    std::exception_ptr error_;
};

}  // namespace peakline::report
