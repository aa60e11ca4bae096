// Replays a recorded run in the model under the recorded settings: checks that the model is right
// for this trace, and collects facts about the device.
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
    uint32_t context = 0;  // of the request; 0: none
    uint64_t requested_bytes = 0;
};

// Calls of torch's allocator besides requests; all 0 when the recording has no calls.
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
    AllocatorRules rules{};                      // the matching rules; if none match: the newest
    std::optional<ReplayDifference> difference;  // under these rules
    ModelCounts counts;
    // Facts from the trace itself.
    uint64_t recorded_peak_bytes = 0;  // of all segments
    uint64_t segment_event_count = 0;
    uint64_t request_count = 0;
    AllocatorUse use;
    bool sees_calls = false;  // `use` is valid
    // The most bytes that others used on the device: contexts, libraries, other processes. nullopt:
    // the trace does not have the free bytes.
    std::optional<uint64_t> other_bytes;
    uint64_t device_bytes = 0;  // total; 0: unknown
    // Events at which a call emptied the cache that older recordings do not have.
    std::vector<uint64_t> guessed_empty_events;
    AllocatorSettings settings;  // at the start
    uint64_t event_count = 0;
};

struct VerifyRequest {
    std::optional<uint32_t> device = {};  // nullopt: the one with the most reserved bytes
    // Set both to get the phases, too, from the same pass.
    const PhaseRules* phase_rules = nullptr;
    PhaseTable* phases = nullptr;
    Threading threading = Threading::kWhereItPays;
};

// Throws TraceError when the trace cannot be replayed: it keeps no events, has another backend, or
// has no segments.
VerifiedRun verify_run(const TraceReader& reader,
                       const VerifyRequest& request,
                       const Progress& progress);

}  // namespace peakline::report
