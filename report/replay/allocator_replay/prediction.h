// Replays the requests of a trace under other settings and on other devices, several in one pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verification.h"

namespace peakline::report {

struct PredictedRefusal {
    uint64_t event = 0;
    uint64_t tick = 0;
    uint32_t context = 0;
    uint64_t requested_bytes = 0;
};

struct PredictionRequest {
    AllocatorSettings settings;
    uint64_t device_bytes = 0;  // total
    // Bytes left to torch when the other users of the device peak.
    uint64_t capacity_bytes = 0;
    // Applies settings that the program changed while it ran.
    bool follows_settings = false;
    bool empties_cache = false;  // at the events in PredictionEvents
};

struct Prediction {
    PredictionRequest request;
    ModelCounts counts;
    // Counts until the end of the first step; nullopt: the trace has no step.
    std::optional<ModelCounts> first_step;
    // Memory ran out. The program's reaction is unknown, so no later event is counted.
    std::optional<PredictedRefusal> refused;
    // Requests that the recorded run refused and this one would serve; the first of them.
    uint64_t served_refusals = 0;
    std::optional<PredictedRefusal> first_served;
};

struct PredictionEvents {
    std::vector<uint64_t> empty_cache;  // empties the cache before these events; in order
    std::optional<uint64_t> first_step_end;
};

std::vector<Prediction> predict(const TraceReader& reader,
                                const VerifiedRun& verified,
                                const std::vector<PredictionRequest>& requests,
                                const PredictionEvents& events,
                                const Progress& progress,
                                Threading threading = Threading::kWhereItPays);

}  // namespace peakline::report
