// A trace as the requests and actions of one device's allocator, in order. They drive a model,
// which is compared with them. Each device has its own listener; several work in one pass.
//
// Note [Blocks of a retry]
// Blocks in use by other streams complete at the next request, before torch looks for a block. A
// request that the device refuses waits for all of them, and does not look again. Both are recorded
// alike, before the request. Completions after a refusal of the device, or before segments that are
// released without a call, are of the second kind: listeners get them after the request. Garbage
// collection releases segments between the two; then only the refusal, or their order after such
// segments, shows the kind.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "report/replay/allocator_model/allocator_model.h"
#include "report/replay/blocks/block_stream.h"

namespace peakline::report {

struct RecordedRequest {
    ModelRequest request;
    uint64_t address = 0;
    uint64_t block_bytes = 0;
    uint32_t context = 0;
    EventTime at;
    bool is_restored = false;  // a block of a graph's pool that is restored
};

class AllocatorListener {
public:
    AllocatorListener() = default;
    virtual ~AllocatorListener() = default;
    AllocatorListener(const AllocatorListener&) = delete;
    AllocatorListener& operator=(const AllocatorListener&) = delete;

    virtual void on_request(const RecordedRequest& request) = 0;
    // Memory ran out; address and block_bytes are 0.
    virtual void on_refused(const RecordedRequest& request, uint64_t free_bytes) = 0;
    virtual void on_free_requested(uint64_t ordinal) = 0;
    virtual void on_free_completed(uint64_t ordinal) = 0;
    // Both at once, as for most frees.
    virtual void on_freed(uint64_t ordinal) {
        on_free_requested(ordinal);
        on_free_completed(ordinal);
    }
    virtual void on_segment(const SegmentChange& change, EventTime at) = 0;
    virtual void on_call(const format::AllocatorCall& call) = 0;
    virtual void on_settings(const AllocatorSettings& settings) = 0;
    virtual void on_memory(const format::DeviceMemory& memory) = 0;
    // The bytes of the device in use outside torch's allocator changed. Called before the next
    // request.
    virtual void on_others(uint64_t) {}
    virtual void on_event(EventTime) {}
};

class AllocatorEvents : public BlockFollower {
public:
    // `stream` must outlive this.
    explicit AllocatorEvents(const BlockStream& stream);

    // Listeners must outlive this. Events of devices without a listener are dropped.
    void listen(uint32_t device, AllocatorListener& listener);
    // Calls every listener's on_event before the first event at or after each of these.
    void call_at(std::vector<uint64_t> events);

    void before_event(EventTime at) {
        if (at.event >= next_call_) {
            call_listeners(at);
        }
    }
    void on_alloc(const BlockAlloc& block);
    void on_free(const BlockFree& block);
    void on_rare(const RareEvent& event, EventTime at);
    // Passes on events that wait for a later record. Call it after the last event.
    void finish();

private:
    // Two records make one event: the second one gives the pool of the first.
    struct Waiting {
        std::optional<format::Segment> segment;
        std::optional<format::OutOfMemory> refused;
        format::Refusal refusal{};
        uint64_t pool = 0;
        EventTime at;
    };
    struct PoolRange {
        uint64_t end;
        uint64_t pool;
    };
    struct Device {
        AllocatorListener* listener = nullptr;
        std::map<uint64_t, PoolRange> private_segments;  // by address
        std::set<uint64_t> serving_pools;                // they may serve the default pool
        std::map<uint64_t, uint64_t> routings;           // open ones, by pool
        // ordinals that are free again and not passed on yet
        std::vector<uint64_t> completed;
        bool is_retry = false;      // `completed` is of a retry; see Note [Blocks of a retry]
        bool has_returned = false;  // segments were released since the last request or call
        bool is_restoring = false;
        uint64_t reserved_bytes = 0;
        uint64_t used_bytes = 0;  // of the whole device, at the last sample
        bool is_sampled = false;  // since the last request
    };

    Device* find(uint64_t device) {
        return device < devices_.size() && devices_[device].listener != nullptr ? &devices_[device]
                                                                                : nullptr;
    }
    void pass_on() {
        if (waiting_.segment.has_value() || waiting_.refused.has_value()) {
            pass_on_slow();
        }
    }
    void pass_on_slow();
    void pass_on_segment(Device& device, const format::Segment& segment);
    void pass_on_call(const format::AllocatorCall& call);
    void pass_on_settings(const std::string& text);
    static void pass_on_completed(Device& device);
    void begin_request(Device& device);
    static void pass_on_others(Device& device);
    void call_listeners(EventTime at);
    // The pool of the request that got the block at the address.
    static uint64_t pool_of(const Device& device, uint64_t address);
    uint64_t handle_of(uint64_t stream) const {
        return stream_.definitions().streams[static_cast<uint32_t>(stream)];
    }

    const BlockStream& stream_;
    std::vector<Device> devices_;
    Waiting waiting_;
    bool collects_garbage_ = false;
    std::vector<uint64_t> calls_;  // events, in order
    size_t call_count_ = 0;
    uint64_t next_call_ = UINT64_MAX;
};

}  // namespace peakline::report
