#include "prediction.h"

#include <algorithm>
#include <memory>

#include "allocator_events.h"
#include "sized_device.h"

namespace peakline::report {
namespace {

PredictedRefusal refusal_of(const RecordedRequest& recorded) {
    return {
        recorded.at.event, recorded.at.tick, recorded.context, recorded.request.requested_bytes};
}

class OneRun {
public:
    OneRun(const PredictionRequest& request, const AllocatorModel::Setup& setup)
        : device_(request.capacity_bytes), model_(setup, device_) {
        prediction_.request = request;
    }

    bool is_over() const { return prediction_.refused.has_value(); }
    AllocatorModel& model() { return model_; }

    void allocate(const RecordedRequest& recorded) {
        if (!model_.allocate(recorded.request).has_value()) {
            prediction_.refused = refusal_of(recorded);
        }
    }
    void refuse(const RecordedRequest& recorded) {
        allocate(recorded);
        if (is_over()) {
            return;
        }
        model_.free_requested(recorded.request.ordinal);
        model_.free_completed(recorded.request.ordinal);
        if (prediction_.served_refusals++ == 0) {
            prediction_.first_served = refusal_of(recorded);
        }
    }
    void give(const AllocatorSettings& settings) {
        if (prediction_.request.follows_settings) {
            model_.set_settings(settings);
        }
    }
    void empty_cache_if_asked() {
        if (prediction_.request.empties_cache) {
            model_.release_cached();
        }
    }
    void set_extra(uint64_t bytes) { device_.set_extra(bytes); }
    void end_first_step() { prediction_.first_step = model_.counts(); }
    Prediction finish() {
        prediction_.counts = model_.counts();
        return prediction_;
    }

private:
    SizedDevice device_;
    AllocatorModel model_;
    Prediction prediction_;
};

class Predictor final : public AllocatorListener {
public:
    Predictor(const VerifiedRun& verified,
              const std::vector<PredictionRequest>& requests,
              const PredictionEvents& events,
              uint64_t max_alloc_count)
        : events_(events),
          guessed_(verified.guessed_empty_events),
          most_others_bytes_(verified.other_bytes.value_or(0)) {
        for (const PredictionRequest& request : requests) {
            const AllocatorModel::Setup setup{
                request.settings, verified.rules, request.device_bytes, max_alloc_count};
            runs_.push_back(std::make_unique<OneRun>(request, setup));
        }
    }

    void on_request(const RecordedRequest& recorded) override {
        for_each([&](OneRun& run) { run.allocate(recorded); });
    }
    void on_refused(const RecordedRequest& recorded, uint64_t) override {
        for_each([&](OneRun& run) { run.refuse(recorded); });
    }
    void on_free_requested(uint64_t ordinal) override {
        for_each([&](OneRun& run) { run.model().free_requested(ordinal); });
    }
    void on_free_completed(uint64_t ordinal) override {
        for_each([&](OneRun& run) { run.model().free_completed(ordinal); });
    }
    void on_call(const format::AllocatorCall& call) override {
        for_each([&](OneRun& run) { run.model().apply(call); });
    }
    void on_settings(const AllocatorSettings& settings) override {
        for_each([&](OneRun& run) { run.give(settings); });
    }
    void on_event(EventTime at) override {
        const auto is_one_of = [&](const std::vector<uint64_t>& events) {
            return std::binary_search(events.begin(), events.end(), at.event);
        };
        const bool was_emptied = is_one_of(guessed_);
        const bool is_to_be_emptied = is_one_of(events_.empty_cache);
        const bool ends_first_step = events_.first_step_end == at.event;
        for_each([&](OneRun& run) {
            if (was_emptied) {
                run.model().release_cached();
            }
            if (is_to_be_emptied) {
                run.empty_cache_if_asked();
            }
            if (ends_first_step) {
                run.end_first_step();
            }
        });
    }
    // They had the most at another time: torch may have what they do not have yet.
    void on_others(uint64_t bytes) override {
        for_each([&](OneRun& run) {
            run.set_extra(most_others_bytes_ - std::min(bytes, most_others_bytes_));
        });
    }
    // Of the recorded run.
    void on_segment(const SegmentChange&, EventTime) override {}
    void on_memory(const format::DeviceMemory&) override {}

    std::vector<Prediction> finish() {
        std::vector<Prediction> predictions;
        for (const auto& run : runs_) {
            predictions.push_back(run->finish());
        }
        return predictions;
    }

private:
    template <class Do>
    void for_each(Do act) {
        for (const auto& run : runs_) {
            if (!run->is_over()) {
                act(*run);
            }
        }
    }

    const PredictionEvents& events_;
    const std::vector<uint64_t>& guessed_;
    uint64_t most_others_bytes_;
    std::vector<std::unique_ptr<OneRun>> runs_;
};

}  // namespace

std::vector<Prediction> predict(const TraceReader& reader,
                                const VerifiedRun& verified,
                                const std::vector<PredictionRequest>& requests,
                                const PredictionEvents& events,
                                const Progress& progress) {
    std::vector<uint64_t> calls = events.empty_cache;
    calls.insert(
        calls.end(), verified.guessed_empty_events.begin(), verified.guessed_empty_events.end());
    if (events.first_step_end.has_value()) {
        calls.push_back(*events.first_step_end);
    }
    BlockStream stream(reader);
    AllocatorEvents replay(stream);
    Predictor predictor(verified, requests, events, reader.max_alloc_count() + 1);
    replay.listen(verified.device, predictor);
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    replay.call_at(calls);
    stream.run(progress, replay);
    replay.finish();
    return predictor.finish();
}

}  // namespace peakline::report
