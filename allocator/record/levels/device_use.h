// The use of one device, from the records of the driver. The recorder follows them for checkpoints
// of a bounded file; the report follows them in every other trace. Both use this code, so both get
// the same sums.
//
// Note [Steps]
// The driver reports the use of the whole device; requests are known to the byte. The difference
// is memory without a request: the context, code, graphs, rounding. It changes in steps from sample
// to sample, and each step belongs to the event before its sample. A step without such an event is
// unexplained.
//
// Note [Other processes]
// NVML reports the bytes of each process on a device. Those of other processes count like
// requests. We assume that they were the same before the first report; if the first sample was too
// small for that, they had what it leaves beside this process. If NVML does not list this process
// (a container sees other process ids), the others are unknown.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "allocator/record/format/trace_format.h"

namespace peakline::record {

enum class Step : uint8_t {
    kBefore,   // in use at the first sample, beyond all requests
    kContext,  // of further contexts
    kModules,
    kLimits,
    kGraphs,
    kGrowth,  // between two calls
    kRounding,
    kUnexplained,
};
inline constexpr size_t kStepCount = 8;

struct DeviceUse {
    // Bytes that are requested and still held.
    uint64_t device_bytes = 0;  // of requests that take memory of the device
    uint64_t pool_bytes = 0;    // reserved by pools
    uint64_t unseen_bytes = 0;  // of torch's segments without a known request
    uint64_t other_bytes = 0;   // of other processes
    bool knows_others = false;
    uint64_t first_other_bytes = 0;  // assumed until the first report, see Note [Other processes]

    uint64_t total_bytes = 0;  // 0: no sample yet
    int64_t sampled_bytes = 0;
    int64_t asked_at_sample = 0;
    int64_t calls_since_sample = 0;  // requests and frees
    int64_t steps[kStepCount] = {};

    int64_t& step(Step which) { return steps[static_cast<size_t>(which)]; }
    int64_t step(Step which) const { return steps[static_cast<size_t>(which)]; }
    uint64_t held_bytes() const { return device_bytes + pool_bytes + unseen_bytes; }
    // The sum of all known bytes.
    int64_t asked_bytes() const { return static_cast<int64_t>(held_bytes() + other_bytes); }
    // The driver's last sample plus the bytes that came and went since.
    int64_t used_bytes() const { return sampled_bytes + (asked_bytes() - asked_at_sample); }

    void apply(const format::DeviceProcesses& processes) {
        if (processes.own_bytes == 0) {
            return;
        }
        if (!knows_others) {
            first_other_bytes = others_at_first_sample(processes);
            if (total_bytes != 0) {
                step(Step::kBefore) -= static_cast<int64_t>(first_other_bytes);
                asked_at_sample += static_cast<int64_t>(first_other_bytes);
            }
        }
        knows_others = true;
        other_bytes = processes.other_bytes;
    }

    void apply(const format::DriverSample& sample) {
        const auto used = static_cast<int64_t>(sample.total_bytes - sample.free_bytes);
        const int64_t asked = asked_bytes();
        if (total_bytes == 0) {
            step(Step::kBefore) = used - asked;
        } else {
            add_step(sample.reason, (used - asked) - (sampled_bytes - asked_at_sample));
        }
        total_bytes = sample.total_bytes;
        sampled_bytes = used;
        asked_at_sample = asked;
        calls_since_sample = 0;
    }

private:
    uint64_t others_at_first_sample(const format::DeviceProcesses& processes) const {
        const auto others = static_cast<int64_t>(processes.other_bytes);
        const int64_t beyond_requests = step(Step::kBefore);
        if (total_bytes == 0 || others <= beyond_requests) {
            return processes.other_bytes;
        }
        // They have grown since. The context of this process was there before, too.
        const auto own = static_cast<int64_t>(processes.own_bytes - held_bytes());
        const int64_t left = beyond_requests - std::max(own, int64_t{0});
        return static_cast<uint64_t>(std::clamp(left, int64_t{0}, others));
    }

    // The driver allocates memory in granules of this size: a request may take up to one granule
    // more than its bytes.
    static constexpr int64_t kGranuleBytes = 2 << 20;

    void add_step(format::SampleReason reason, int64_t bytes) {
        switch (reason) {
            case format::SampleReason::kContext:
                step(Step::kContext) += bytes;
                return;
            case format::SampleReason::kModule:
                step(Step::kModules) += bytes;
                return;
            case format::SampleReason::kLimit:
                step(Step::kLimits) += bytes;
                return;
            case format::SampleReason::kGraph:
                step(Step::kGraphs) += bytes;
                return;
            default:
                break;
        }
        // If several threads call the driver, there is one sample after several calls.
        const int64_t rounding_limit = kGranuleBytes * calls_since_sample;
        if (bytes > -rounding_limit && bytes < rounding_limit) {
            step(Step::kRounding) += bytes;
            return;
        }
        const bool is_growth = step(Step::kGrowth) + bytes >= 0;
        step(is_growth ? Step::kGrowth : Step::kUnexplained) += bytes;
    }
};

}  // namespace peakline::record
