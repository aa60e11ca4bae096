// What a listener of AllocatorEvents hears, passed on to several: some thousand events at a time,
// on as many threads as there are cores. Models of the allocator take far longer than reading the
// events, and none knows of another. Each listener hears everything in order, as it would without
// threads, and is called by one thread at a time.
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
    kWhereItPays,  // where there are cores and the trace has some length
    kHere,         // none
    kAlways,
};

class ListenerThreads final : public AllocatorListener {
public:
    // The listeners must outlive this. `chunk_count`: of the trace.
    ListenerThreads(const std::vector<AllocatorListener*>& listeners,
                    Threading threading,
                    size_t chunk_count);
    // Lets the threads end where they are.
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

    // After the last event: every listener has heard everything. Throws what one of them threw.
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
        uint32_t place;    // in the vector of its kind
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
        void tell(AllocatorListener& listener) const;
    };
    struct Reader {
        AllocatorListener* listener = nullptr;
        uint64_t told_count = 0;  // batches
        bool is_busy = false;
    };
    static constexpr size_t kBatchOperations = 4096;
    static constexpr size_t kBatches = 8;

    void add(Kind kind, uint64_t operand, size_t place = 0);
    Batch& open() { return batches_[put_count_ % kBatches]; }
    void start(size_t thread_count);
    void put_batch();
    void work();
    // Called with lock_ held. nullptr: none has anything to hear.
    Reader* next_reader();
    uint64_t least_told() const;

    std::vector<Reader> readers_;
    std::vector<std::thread> threads_;  // none: listeners are called where batches are put
    std::vector<Batch> batches_;        // a ring
    std::mutex lock_;
    std::condition_variable changed_;
    // Guarded by lock_, as are the readers.
    uint64_t put_count_ = 0;  // batches; written by the thread that puts alone
    bool is_ended_ = false;
    std::exception_ptr error_;
};

}  // namespace peakline::report
