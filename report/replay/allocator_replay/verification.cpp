#include "verification.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "allocator_events.h"
#include "recorded_device.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

class Verifier final : public AllocatorListener {
public:
    explicit Verifier(const AllocatorModel::Setup& setup)
        : device_bytes_(setup.device_bytes), model_(setup, device_) {
        run_.rules = setup.rules;
        run_.device_bytes = setup.device_bytes;
        run_.settings = setup.settings;
    }

    void on_request(const RecordedRequest& recorded) override {
        ++run_.request_count;
        device_.begin_request();
        keep_difference(recorded);
        guess_emptied_cache(recorded);
        std::optional<ModelRange> range;
        if (recorded.is_restored) {
            ModelRequest block = recorded.request;
            block.requested_bytes = recorded.block_bytes;
            range = model_.restore(block, recorded.address);
        } else {
            range = model_.allocate(recorded.request);
        }
        device_.end_request();
        keep_difference(recorded);
        if (!range.has_value()) {
            differ(recorded, "the model runs out of memory, the trace does not");
        } else if (range->address != recorded.address || range->bytes != recorded.block_bytes) {
            differ(recorded,
                   "the model takes a block of " + std::to_string(range->bytes) +
                       " bytes at another address than the one of " +
                       std::to_string(recorded.block_bytes) + " in the trace");
        }
    }

    void on_refused(const RecordedRequest& recorded, uint64_t free_bytes) override {
        device_.begin_request();
        keep_difference(recorded);
        if (model_.allocate(recorded.request).has_value()) {
            differ(recorded, "the trace runs out of memory, the model does not");
            model_.free_requested(recorded.request.ordinal);
            model_.free_completed(recorded.request.ordinal);
        }
        device_.end_request();
        keep_difference(recorded);
        note_free(free_bytes, reserved_bytes_);
    }

    void on_free_requested(uint64_t ordinal) override { model_.free_requested(ordinal); }
    void on_free_completed(uint64_t ordinal) override { model_.free_completed(ordinal); }
    void on_freed(uint64_t ordinal) override { model_.free(ordinal); }

    void on_segment(const SegmentChange& change, EventTime at) override {
        ++run_.segment_event_count;
        reserved_bytes_ += change.grows() ? change.bytes : -change.bytes;
        run_.recorded_peak_bytes = std::max(run_.recorded_peak_bytes, reserved_bytes_);
        if (!device_.is_waiting()) {
            first_waiting_ = at;
        }
        device_.record(change);
    }

    void on_call(const format::AllocatorCall& call) override {
        count(call.action);
        model_.apply(call);
    }
    void on_settings(const AllocatorSettings& settings) override {
        ++run_.use.settings_given;
        model_.set_settings(settings);
    }
    void on_memory(const format::DeviceMemory& memory) override {
        sees_calls_ = true;
        const bool is_first = memory.moment == format::MemoryMoment::kFirstSegment;
        run_.use.failed_device_allocs +=
            memory.moment == format::MemoryMoment::kAllocFailed ? 1 : 0;
        note_free(memory.free_bytes, is_first ? 0 : reserved_bytes_);
    }

    void on_others(uint64_t bytes) override {
        run_.other_bytes = std::max(run_.other_bytes.value_or(0), bytes);
    }

    VerifiedRun finish(EventTime end) {
        RecordedRequest nothing;
        nothing.at = end;
        if (guesses() && device_.is_waiting()) {
            model_.release_cached();
            run_.guessed_empty_events.push_back(first_waiting_.event);
        }
        device_.begin_request();
        device_.end_request();
        keep_difference(nothing);
        run_.counts = model_.counts();
        run_.event_count = end.event;
        run_.sees_calls = sees_calls_;
        return run_;
    }

    bool has_difference() const { return run_.difference.has_value(); }

private:
    // Recordings with allocator calls also record the free bytes of the device.
    bool guesses() const { return !sees_calls_ && model_.settings().collection_threshold == 0; }

    // Segments were freed although the request needs no new one, or the device has room for it. So
    // the program had emptied the cache.
    void guess_emptied_cache(const RecordedRequest& recorded) {
        if (!guesses() || !device_.is_waiting() || device_.recorded().front().grows()) {
            return;
        }
        const auto& waiting = device_.recorded();
        const bool grows = std::any_of(
            waiting.begin(), waiting.end(), [](const auto& change) { return change.grows(); });
        if (grows && !model_.has_cached(recorded.request) && was_full(waiting.back().bytes)) {
            return;
        }
        model_.release_cached();
        run_.guessed_empty_events.push_back(first_waiting_.event);
    }
    // Whether the device was full before the segments were freed: the model has not freed them yet.
    bool was_full(uint64_t bytes) const {
        return device_bytes_ != 0 && model_.counts().reserved_bytes + bytes > device_bytes_;
    }

    void note_free(uint64_t free_bytes, uint64_t reserved_bytes) {
        if (device_bytes_ >= free_bytes + reserved_bytes) {
            const uint64_t others = device_bytes_ - free_bytes - reserved_bytes;
            run_.other_bytes = std::max(run_.other_bytes.value_or(0), others);
        }
    }

    void keep_difference(const RecordedRequest& recorded) {
        if (const std::optional<std::string> what = device_.take_difference()) {
            differ(recorded, *what);
        }
    }
    void differ(const RecordedRequest& recorded, const std::string& what) {
        if (!run_.difference.has_value()) {
            run_.difference = ReplayDifference{what,
                                               recorded.at.event,
                                               recorded.at.tick,
                                               recorded.context,
                                               recorded.request.requested_bytes};
        }
    }

    void count(format::AllocatorAction action) {
        using Action = format::AllocatorAction;
        run_.use.pools_created += action == Action::kPoolCreated ? 1 : 0;
        run_.use.routings += action == Action::kRoutingBegun ? 1 : 0;
        run_.use.captures += action == Action::kCaptureBegun ? 1 : 0;
        run_.use.emptied_caches += action == Action::kCacheEmptied ? 1 : 0;
        run_.use.restores += action == Action::kRestoreBegun ? 1 : 0;
        run_.use.fractions_set += action == Action::kFractionSet ? 1 : 0;
    }

    uint64_t device_bytes_;
    RecordedDevice device_;
    AllocatorModel model_;
    VerifiedRun run_;
    uint64_t reserved_bytes_ = 0;
    bool sees_calls_ = false;
    EventTime first_waiting_;
};

uint64_t device_bytes_of(const TraceReader& reader, uint32_t device) {
    const std::string key = "device." + std::to_string(device) + ".total_bytes";
    const std::string_view text = reader.definitions().meta_text(key);
    uint64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    return bytes;
}

std::vector<VerifiedRun> verify_with(const TraceReader& reader,
                                     const AllocatorRules& rules,
                                     const AllocatorSettings& settings,
                                     const VerifyRequest& request,
                                     const Progress& progress) {
    BlockStream stream(reader);
    AllocatorEvents events(stream);
    std::vector<std::unique_ptr<Verifier>> verifiers;
    std::vector<std::unique_ptr<ListenerThreads>> threads;  // one per verifier
    std::vector<uint32_t> devices;
    for (uint32_t device = 0; device < kMaxDevices; ++device) {
        const uint64_t bytes = device_bytes_of(reader, device);
        if (bytes == 0 && device != 0) {
            continue;
        }
        verifiers.push_back(std::make_unique<Verifier>(
            AllocatorModel::Setup{settings, rules, bytes, reader.max_alloc_count() + 1}));
        devices.push_back(device);
        threads.push_back(std::make_unique<ListenerThreads>(
            std::vector<AllocatorListener*>{verifiers.back().get()},
            request.threading,
            reader.chunks().size()));
        events.listen(device, *threads.back());
    }
    if (request.phases != nullptr) {
        PhaseReplay phases(stream, *request.phase_rules, {});
        stream.run(progress, events, phases);
        *request.phases = phases.finish().table;
    } else {
        stream.run(progress, events);
    }
    events.finish();
    for (const auto& one : threads) {
        one->finish();
    }
    std::vector<VerifiedRun> runs;
    for (size_t i = 0; i < verifiers.size(); ++i) {
        runs.push_back(verifiers[i]->finish(stream.end()));
        runs.back().device = devices[i];
    }
    return runs;
}

VerifiedRun choose(std::vector<VerifiedRun> runs,
                   std::optional<uint32_t> device,
                   const TraceReader& reader) {
    const auto found =
        device.has_value()
            ? std::find_if(runs.begin(),
                           runs.end(),
                           [&](const VerifiedRun& run) { return run.device == *device; })
            : std::max_element(runs.begin(), runs.end(), [](const auto& one, const auto& other) {
                  return one.recorded_peak_bytes < other.recorded_peak_bytes;
              });
    const std::string backend(reader.definitions().meta_text("backend"));
    if (backend.starts_with("pluggable")) {
        throw TraceError(reader.name() + ": recorded with --backend " + backend +
                         ", where torch's own allocator serves nothing: record with the default "
                         "backend");
    }
    if (found == runs.end() || found->segment_event_count == 0) {
        throw TraceError(reader.name() + ": nothing to replay: no segments of torch's allocator" +
                         (device ? " on device " + std::to_string(*device) : std::string()));
    }
    return std::move(*found);
}

}  // namespace

VerifiedRun verify_run(const TraceReader& reader,
                       const VerifyRequest& request,
                       const Progress& progress) {
    if (!reader.has_events() || reader.checkpoint() != nullptr) {
        throw TraceError(reader.name() +
                         ": whatif replays every allocation since the first, and this trace keeps "
                         "a part of them: record it with --keep all");
    }
    const AllocatorSettings settings =
        parse_allocator_settings(std::string(reader.definitions().meta_text("allocator_settings")));
    if (!settings.is_native) {
        throw TraceError(reader.name() + ": recorded with " + settings.text +
                         ": settings of torch's own allocator change nothing there");
    }
    std::optional<VerifiedRun> newest;
    VerifyRequest pass = request;
    for (const AllocatorRules& rules : allocator_rules()) {
        VerifiedRun run =
            choose(verify_with(reader, rules, settings, pass, progress), request.device, reader);
        pass.phases = nullptr;  // phases are the same under any rules
        if (!run.difference.has_value()) {
            return run;
        }
        if (!newest.has_value()) {
            newest = std::move(run);
        }
    }
    return *std::move(newest);
}

}  // namespace peakline::report
