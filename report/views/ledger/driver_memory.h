// What the driver has given of one device, and what it says is in use, as events come. See Note
// [Driver records] in allocator/record/format/events.h.
//
// Note [Steps]
// The driver says what is in use on the whole device; what was asked for is known to the byte. The
// difference of the two is what nobody asked for: the context, code, graphs, rounding. It changes
// in steps from sample to sample, and each step belongs to what came before its sample. A step that
// belongs to nothing is unexplained.
//
// Note [Other processes]
// NVML says what each process holds of a device. What others hold is known like a request, from the
// first time that NVML was asked: it is taken to have been the same before. Where NVML does not
// list this process (a container sees other process ids) it says nothing about others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "report/replay/blocks/block_stream.h"

namespace peakline::report {

enum class Step : uint8_t {
    kBefore,   // what was in use at the first sample beyond what was asked for
    kContext,  // of further contexts
    kModules,
    kLimits,
    kGraphs,
    kGrowth,  // between two calls
    kRounding,
    kUnexplained,
};
inline constexpr size_t kStepCount = 8;

struct PoolLevel {
    uint64_t reserved_bytes = 0;
    uint64_t requested_bytes = 0;  // of live requests
};

struct DriverRequest : format::DriverAlloc {
    uint32_t made_for = 0;  // string, see format::MadeFor
};

class DriverMemory {
public:
    using Key = std::pair<format::DriverKind, uint64_t>;  // an address, or a handle
    using Requests = std::map<Key, DriverRequest>;
    using Pools = std::map<uint64_t, PoolLevel>;  // by handle; 0: of graphs

    explicit DriverMemory(uint32_t device) : device_(device) {}

    // In the order of the trace.
    void apply(const RareEvent& event);

    bool has_samples() const { return total_bytes_ != 0; }
    uint64_t total_bytes() const { return total_bytes_; }
    // As the driver said last, and what came and went since.
    int64_t used_bytes() const { return sampled_bytes_ + (asked_bytes() - asked_at_sample_); }
    int64_t step_bytes(Step step) const { return steps_[static_cast<size_t>(step)]; }

    const Requests& requests() const { return requests_; }
    const Pools& pools() const { return pools_; }
    // All that was asked for, of which the bytes are known.
    uint64_t held_bytes() const { return device_bytes_ + pool_bytes_ + unseen_bytes_; }
    // What all pools of CUDA hold, those of graphs excepted.
    uint64_t pool_reserved_bytes() const { return pool_bytes_ - graph_pool_bytes(); }
    uint64_t graph_pool_bytes() const {
        const auto graphs = pools_.find(0);
        return graphs == pools_.end() ? 0 : graphs->second.reserved_bytes;
    }
    // nullopt: nobody could say. See Note [Other processes].
    std::optional<uint64_t> other_bytes() const { return other_bytes_; }
    // Of torch's segments whose requests the trace does not have: made before it began.
    uint64_t unseen_segment_bytes() const { return unseen_bytes_; }

private:
    void add(const format::DriverAlloc& request);
    void remove(const format::DriverFree& request);
    void count(const format::DriverAlloc& request, bool is_added);
    void apply_segment(const format::Segment& segment);
    void apply_processes(const format::DeviceProcesses& processes);
    void apply_sample(const format::DriverSample& sample);
    void add_step(format::SampleReason reason, int64_t bytes);
    bool was_requested(uint64_t address) const;
    // Everything whose bytes are known.
    int64_t asked_bytes() const {
        return static_cast<int64_t>(held_bytes() + other_bytes_.value_or(0));
    }
    int64_t& step(Step which) { return steps_[static_cast<size_t>(which)]; }

    uint32_t device_;
    Requests requests_;
    Pools pools_;
    std::optional<Key> last_request_;      // that the next record may be about
    std::map<uint64_t, uint64_t> unseen_;  // segments, address to bytes
    uint64_t unseen_bytes_ = 0;
    uint64_t device_bytes_ = 0;  // of requests that take memory of the device
    uint64_t pool_bytes_ = 0;    // reserved
    uint64_t total_bytes_ = 0;
    std::optional<uint64_t> other_bytes_;
    int64_t sampled_bytes_ = 0;
    int64_t asked_at_sample_ = 0;
    int64_t calls_since_sample_ = 0;  // requests and frees
    std::array<int64_t, kStepCount> steps_ = {};
};

}  // namespace peakline::report
