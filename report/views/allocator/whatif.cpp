#include "whatif.h"

#include <algorithm>
#include <map>

#include "floor.h"
#include "report/attribute/grouping.h"
#include "report/trace/file/trace_error.h"
#include "report/views/calls/event_phases.h"

namespace peakline::report {
namespace {

// The settings that people try first; divisions and a limit on splitting help some programs and
// harm others.
constexpr const char* kSearched[] = {
    "expandable_segments:True",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:16",
    "max_split_size_mb:64",
    "max_split_size_mb:256",
    "max_split_size_mb:1024",
    "garbage_collection_threshold:0.8",
    "expandable_segments:True,roundup_power2_divisions:8",
};
constexpr uint64_t kUnlimited = uint64_t{1} << 56;
constexpr uint64_t kDeviceStep = uint64_t{2} << 20;  // step between compared devices
constexpr uint64_t kProbesAtOnce = 7;

class WhatIfMaker {
public:
    WhatIfMaker(const TraceReader& reader,
                const WhatIfText& text,
                StackLookup& stacks,
                const Progress& progress)
        : reader_(reader), text_(text), stacks_(stacks), progress_(progress) {}

    WhatIf make(std::optional<uint32_t> device) {
        const std::vector<AllocatorSettings> settings = read_settings();
        all_.verified = verify_run(reader_, {device, &stacks_.phase_rules(), &phases_}, progress_);
        all_.sees_calls = all_.verified.sees_calls;
        all_.floor_bytes = floor_of_blocks(reader_, all_.verified.device, progress_);
        if (all_.verified.difference.has_value()) {
            const uint32_t context = all_.verified.difference->context;
            if (context != 0) {
                all_.difference_line = line_of(context);
            }
            if (!text_.is_unverified) {
                return std::move(all_);
            }
        }
        find_events();
        choose_device();
        std::vector<PredictionRequest> requests = {request_of(all_.verified.settings)};
        requests.front().follows_settings = true;
        for (const AllocatorSettings& one : settings) {
            requests.push_back(request_of(one));
        }
        if (settings.empty() && !events_.empty_cache.empty()) {
            requests.push_back(requests.front());
        }
        for (size_t i = 1; i < requests.size(); ++i) {
            requests[i].empties_cache = !events_.empty_cache.empty();
        }
        const std::vector<Prediction> predictions = predict_all(requests);
        all_.recorded = run_of(predictions.front());
        for (size_t i = 1; i < predictions.size(); ++i) {
            all_.runs.push_back(run_of(predictions[i]));
        }
        if (text_.finds_smallest_device) {
            find_smallest_devices(requests);
        }
        compare();
        return std::move(all_);
    }

private:
    std::vector<AllocatorSettings> read_settings() const {
        std::vector<std::string> texts = text_.settings;
        if (text_.searches) {
            texts.insert(texts.end(), std::begin(kSearched), std::end(kSearched));
        }
        std::vector<AllocatorSettings> settings;
        for (const std::string& text : texts) {
            settings.push_back(parse_allocator_settings(text));
            if (!settings.back().is_native) {
                throw TraceError("allocator settings '" + text +
                                 "': another backend is another allocator; whatif knows torch's "
                                 "own, backend:native");
            }
        }
        return settings;
    }

    void find_events() {
        if (!phases_.steps.empty()) {
            events_.first_step_end = phases_.steps.front().end_event;
        }
        if (text_.empty_cache_at.empty()) {
            return;
        }
        for (const EventRange& range : find_phase(phases_, text_.empty_cache_at)) {
            events_.empty_cache.push_back(range.begin);
        }
        if (events_.empty_cache.empty()) {
            throw TraceError(reader_.name() + ": there is no phase '" + text_.empty_cache_at +
                             "'; peakline phases lists them");
        }
    }

    void choose_device() {
        all_.device_bytes =
            text_.device_bytes != 0 ? text_.device_bytes : all_.verified.device_bytes;
        others_ = all_.verified.other_bytes.value_or(0);
        if (text_.device_bytes != 0 && text_.device_bytes <= others_) {
            throw TraceError("--device-memory: others than torch's allocator have " +
                             std::to_string(others_) + " bytes of the device already");
        }
    }

    PredictionRequest request_of(const AllocatorSettings& settings) const {
        PredictionRequest request;
        request.settings = settings;
        // torch keeps an earlier fraction, unless these settings have another.
        if (request.settings.memory_fraction == 0) {
            request.settings.memory_fraction = all_.verified.settings.memory_fraction;
        }
        request.device_bytes = all_.device_bytes;
        request.capacity_bytes = all_.device_bytes != 0 ? all_.device_bytes - others_ : kUnlimited;
        return request;
    }

    std::vector<Prediction> predict_all(const std::vector<PredictionRequest>& requests) {
        return predict(reader_, all_.verified, requests, events_, progress_);
    }

    Label line_of(uint32_t context) {
        BlockGroup group;
        group.context = context;
        group.device = all_.verified.device;
        group.count = 1;
        return row_by_line(stacks_, group).label;
    }

    WhatIfRefusal refusal_of(const PredictedRefusal& refused) {
        const EventPhases event_phases(phases_);
        const auto& contexts = stacks_.phase_rules().contexts;
        const Phase of_stack =
            refused.context < contexts.size() ? contexts[refused.context].phase : Phase::kNone;
        return {line_of(refused.context),
                refused.requested_bytes,
                refused.tick,
                phase_name(event_phases.phase(of_stack, refused.event)),
                event_phases.step(refused.event)};
    }

    WhatIfRun run_of(const Prediction& prediction) {
        WhatIfRun run;
        run.prediction = prediction;
        if (prediction.refused.has_value()) {
            run.refused = refusal_of(*prediction.refused);
        }
        if (prediction.first_served.has_value()) {
            run.served = refusal_of(*prediction.first_served);
        }
        return run;
    }

    // Tries all runs in the same passes, several sizes of each at once.
    void find_smallest_devices(const std::vector<PredictionRequest>& requests) {
        struct Range {
            uint64_t too_small = 0;  // in steps of capacity
            uint64_t enough = 0;
        };
        const auto with_capacity = [&](const PredictionRequest& request, uint64_t capacity) {
            PredictionRequest sized = request;
            sized.capacity_bytes = capacity;
            sized.device_bytes = capacity + others_;
            return sized;
        };
        std::vector<PredictionRequest> probes;
        for (const PredictionRequest& request : requests) {
            probes.push_back(with_capacity(request, kUnlimited));
        }
        std::vector<Range> ranges;
        for (const Prediction& one : predict_all(probes)) {
            ranges.push_back({0, one.counts.reserved_peak_bytes / kDeviceStep + 1});
        }
        while (true) {
            probes.clear();
            std::vector<std::pair<size_t, uint64_t>> asked;
            for (size_t i = 0; i < requests.size(); ++i) {
                const Range& range = ranges[i];
                const uint64_t width = range.enough - range.too_small;
                uint64_t last = range.too_small;
                for (uint64_t k = 1; k <= kProbesAtOnce; ++k) {
                    const uint64_t at = range.too_small + width * k / (kProbesAtOnce + 1);
                    if (at > last && at < range.enough) {
                        asked.emplace_back(i, at);
                        probes.push_back(with_capacity(requests[i], at * kDeviceStep));
                        last = at;
                    }
                }
            }
            if (probes.empty()) {
                break;
            }
            const std::vector<Prediction> predictions = predict_all(probes);
            for (size_t i = 0; i < asked.size(); ++i) {
                const auto [run, at] = asked[i];
                if (predictions[i].refused.has_value()) {
                    ranges[run].too_small = std::max(ranges[run].too_small, at);
                } else {
                    ranges[run].enough = std::min(ranges[run].enough, at);
                }
            }
            for (Range& range : ranges) {
                range.too_small = std::min(range.too_small, range.enough - 1);
            }
        }
        all_.recorded->smallest_device_bytes = ranges.front().enough * kDeviceStep + others_;
        for (size_t i = 1; i < ranges.size(); ++i) {
            all_.runs[i - 1].smallest_device_bytes = ranges[i].enough * kDeviceStep + others_;
        }
    }

    void compare() {
        const WhatIfRun& base = *all_.recorded;
        for (WhatIfRun& run : all_.runs) {
            const bool is_refused = run.refused.has_value() && !base.refused.has_value();
            const bool is_larger = run.prediction.counts.reserved_peak_bytes >
                                   base.prediction.counts.reserved_peak_bytes;
            run.is_worse = is_refused || (is_larger && !base.refused.has_value());
        }
        if (!text_.searches) {
            return;
        }
        std::stable_sort(all_.runs.begin(), all_.runs.end(), [](const auto& one, const auto& two) {
            const ModelCounts& a = one.prediction.counts;
            const ModelCounts& b = two.prediction.counts;
            if (one.refused.has_value() != two.refused.has_value()) {
                return two.refused.has_value();
            }
            return a.reserved_peak_bytes != b.reserved_peak_bytes
                       ? a.reserved_peak_bytes < b.reserved_peak_bytes
                       : a.device_allocs + a.device_frees < b.device_allocs + b.device_frees;
        });
    }

    const TraceReader& reader_;
    const WhatIfText& text_;
    StackLookup& stacks_;
    const Progress& progress_;
    WhatIf all_;
    PhaseTable phases_;
    PredictionEvents events_;
    uint64_t others_ = 0;
};

}  // namespace

WhatIf make_whatif_runs(const TraceReader& reader,
                        const WhatIfText& text,
                        std::optional<uint32_t> device,
                        StackLookup& stacks,
                        const Progress& progress) {
    return WhatIfMaker(reader, text, stacks, progress).make(device);
}

}  // namespace peakline::report
