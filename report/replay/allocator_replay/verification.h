// A recorded run done again by the model under the recorded settings: whether the model is right
// about this trace, and what the trace says of the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "listener_threads.h"
#include "report/replay/allocator_model/allocator_model.h"
#include "report/replay/phases/phase_replay.h"
#include "report/trace/reader.h"

namespace peakline::report {

struct ReplayDifference {
    std::string what;
    uint64_t event = 0;
    uint64_t tick = 0;
    uint32_t context = 0;  // of the request; 0: there is none
    uint64_t requested_bytes = 0;
};

// What was asked of torch besides blocks; of a recording that did not see it: 0.
struct AllocatorUse {
    uint64_t pools_created = 0;
    uint64_t routings = 0;
    uint64_t captures = 0;
    uint64_t emptied_caches = 0;
    uint64_t restores = 0;
    uint64_t fractions_set = 0;
    uint64_t settings_given = 0;
    uint64_t failed_device_allocs = 0;
};

struct VerifiedRun {
    uint32_t device = 0;
    AllocatorRules rules{};                      // that held; without any: the newest
    std::optional<ReplayDifference> difference;  // under these
    ModelCounts counts;
    // What the trace itself says.
    uint64_t recorded_peak_bytes = 0;  // of all segments
    uint64_t segment_event_count = 0;
    uint64_t request_count = 0;
    AllocatorUse use;
    bool sees_calls = false;  // that use counts
    // The most that others had of the device: contexts, libraries, other processes. nullopt: the
    // trace does not say how much was free.
    std::optional<uint64_t> other_bytes;
    uint64_t device_bytes = 0;  // in all; 0: not known
    // Where the cache was emptied by a call that older recordings do not have: events.
    std::vector<uint64_t> guessed_empty_events;
    AllocatorSettings settings;  // at the start
    uint64_t event_count = 0;
};

struct VerifyRequest {
    std::optional<uint32_t> device = {};  // nullopt: the one with the most reserved bytes
    // Where phases are asked for, too: found in the same pass.
    const PhaseRules* phase_rules = nullptr;
    PhaseTable* phases = nullptr;
    Threading threading = Threading::kWhereItPays;
};

// Throws TraceError where the trace cannot be replayed: it keeps no events, another backend, no
// segments.
VerifiedRun verify_run(const TraceReader& reader,
                       const VerifyRequest& request,
                       const Progress& progress);

}  // namespace peakline::report
