// Follows the driver's memory on one device, and the driver's samples of its use. See Note [Driver
// records] in allocator/record/format/events.h. For the numbers and the reason of each step see
// Notes [Steps] and [Other processes] in allocator/record/levels/device_use.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "allocator/record/levels/device_use.h"
#include "report/replay/blocks/block_stream.h"

namespace peakline::report {

using record::Step;

struct PoolLevel {
    uint64_t reserved_bytes = 0;
    uint64_t requested_bytes = 0;  // of live requests
};

struct DriverRequest : format::DriverAlloc {
    uint32_t made_for = 0;  // string id, see format::MadeFor
    bool is_shared = false;
    uint32_t shared_name = 0;  // string id, see format::SharedMemory
};

class DriverMemory {
public:
    using Key = std::pair<format::DriverKind, uint64_t>;  // an address, or a handle
    using Requests = std::map<Key, DriverRequest>;
    using Pools = std::map<uint64_t, PoolLevel>;  // by handle; 0: of graphs

    explicit DriverMemory(uint32_t device) : device_(device) {}

    // Call it before the first event of a stream that begins at a checkpoint.
    void restore(const Checkpoint& checkpoint);
    // Call it in the order of the trace.
    void apply(const RareEvent& event);

    bool has_samples() const { return use_.total_bytes != 0; }
    uint64_t total_bytes() const { return use_.total_bytes; }
    // The driver's last sample plus the memory allocated and freed since.
    int64_t used_bytes() const { return use_.used_bytes(); }
    int64_t step_bytes(Step step) const { return use_.step(step); }

    const Requests& requests() const { return requests_; }
    const Pools& pools() const { return pools_; }
    // Sum of all requests with known bytes.
    uint64_t held_bytes() const { return use_.held_bytes(); }
    // Bytes in all CUDA pools except those of graphs.
    uint64_t pool_reserved_bytes() const { return use_.pool_bytes - graph_pool_bytes(); }
    uint64_t graph_pool_bytes() const {
        const auto graphs = pools_.find(0);
        return graphs == pools_.end() ? 0 : graphs->second.reserved_bytes;
    }
    // nullopt: no source had it. See Note [Other processes].
    std::optional<uint64_t> other_bytes() const {
        return use_.knows_others ? std::optional(use_.other_bytes) : std::nullopt;
    }
    // Their bytes before the first report.
    uint64_t first_other_bytes() const { return use_.first_other_bytes; }
    // Bytes of torch's segments without requests in the trace: made before it began.
    uint64_t unseen_segment_bytes() const { return use_.unseen_bytes; }

private:
    void add(const format::DriverAlloc& request);
    void remove(const format::DriverFree& request);
    void count(const format::DriverAlloc& request, bool is_added);
    void apply_segment(const format::Segment& segment);
    void add_unseen(uint64_t address, uint64_t bytes);
    bool was_requested(uint64_t address) const;

    uint32_t device_;
    Requests requests_;
    Pools pools_;
    std::optional<Key> last_request_;      // the next record may describe it
    std::map<uint64_t, uint64_t> unseen_;  // segments, address to bytes
    record::DeviceUse use_;
};

}  // namespace peakline::report
