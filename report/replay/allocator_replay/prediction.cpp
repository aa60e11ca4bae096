#include "prediction.h"

#include <algorithm>
#include <memory>

#include "allocator_events.h"
#include "listener_threads.h"
#include "sized_device.h"

namespace peakline::report {
namespace {

PredictedRefusal refusal_of(const RecordedRequest& recorded) {
    return {
        recorded.at.event, recorded.at.tick, recorded.context, recorded.request.requested_bytes};
}

// Shared by all runs.
struct Common {
    const VerifiedRun& verified;
    const PredictionEvents& events;
    uint64_t max_alloc_count;
};

class OneRun final : public AllocatorListener {
public:
    OneRun(const Common& common, const PredictionRequest& request)
        : common_(common),
          device_(request.capacity_bytes),
          model_({request.settings,
                  common.verified.rules,
                  request.device_bytes,
                  common.max_alloc_count},
                 device_) {
        prediction_.request = request;
    }

    void on_request(const RecordedRequest& recorded) override {
        if (!is_over()) {
            allocate(recorded);
        }
    }
    void on_refused(const RecordedRequest& recorded, uint64_t) override {
        if (is_over()) {
            return;
        }
        allocate(recorded);
        if (is_over()) {
            return;
        }
        model_.free(recorded.request.ordinal);
        if (prediction_.served_refusals++ == 0) {
            prediction_.first_served = refusal_of(recorded);
        }
    }
    void on_free_requested(uint64_t ordinal) override {
        if (!is_over()) {
            model_.free_requested(ordinal);
        }
    }
    void on_free_completed(uint64_t ordinal) override {
        if (!is_over()) {
            model_.free_completed(ordinal);
        }
    }
    void on_freed(uint64_t ordinal) override {
        if (!is_over()) {
            model_.free(ordinal);
        }
    }
    void on_call(const format::AllocatorCall& call) override {
        if (!is_over()) {
            model_.apply(call);
        }
    }
    void on_settings(const AllocatorSettings& settings) override {
        if (!is_over() && prediction_.request.follows_settings) {
            model_.set_settings(settings);
        }
    }
    void on_event(EventTime at) override {
        if (is_over()) {
            return;
        }
        const auto is_one_of = [&](const std::vector<uint64_t>& events) {
            return std::binary_search(events.begin(), events.end(), at.event);
        };
        if (is_one_of(common_.verified.guessed_empty_events)) {
            model_.release_cached();
        }
        if (prediction_.request.empties_cache && is_one_of(common_.events.empty_cache)) {
            model_.release_cached();
        }
        if (common_.events.first_step_end == at.event) {
            prediction_.first_step = model_.counts();
        }
    }
    // Others used their maximum at another time: until then, torch may use the difference.
    void on_others(uint64_t bytes) override {
        const uint64_t most = common_.verified.other_bytes.value_or(0);
        device_.set_extra(most - std::min(bytes, most));
    }
    // The next two belong to the recorded run.
    void on_segment(const SegmentChange&, EventTime) override {}
    void on_memory(const format::DeviceMemory&) override {}

    Prediction finish() {
        prediction_.counts = model_.counts();
        return prediction_;
    }

private:
    bool is_over() const { return prediction_.refused.has_value(); }
    void allocate(const RecordedRequest& recorded) {
        if (!model_.allocate(recorded.request).has_value()) {
            prediction_.refused = refusal_of(recorded);
        }
    }

    const Common& common_;
    SizedDevice device_;
    AllocatorModel model_;
    Prediction prediction_;
};

}  // namespace

std::vector<Prediction> predict(const TraceReader& reader,
                                const VerifiedRun& verified,
                                const std::vector<PredictionRequest>& requests,
                                const PredictionEvents& events,
                                const Progress& progress,
                                Threading threading) {
    std::vector<uint64_t> calls = events.empty_cache;
    calls.insert(
        calls.end(), verified.guessed_empty_events.begin(), verified.guessed_empty_events.end());
    if (events.first_step_end.has_value()) {
        calls.push_back(*events.first_step_end);
    }
    BlockStream stream(reader);
    AllocatorEvents replay(stream);
    const Common common = {verified, events, reader.max_alloc_count() + 1};
    std::vector<std::unique_ptr<OneRun>> runs;
    std::vector<AllocatorListener*> listeners;
    for (const PredictionRequest& request : requests) {
        runs.push_back(std::make_unique<OneRun>(common, request));
        listeners.push_back(runs.back().get());
    }
    ListenerThreads threads(listeners, threading, reader.chunks().size());
    replay.listen(verified.device, threads);
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    replay.call_at(calls);
    stream.run(progress, replay);
    replay.finish();
    threads.finish();
    std::vector<Prediction> predictions;
    predictions.reserve(runs.size());
    for (const auto& run : runs) {
        predictions.push_back(run->finish());
    }
    return predictions;
}

}  // namespace peakline::report
