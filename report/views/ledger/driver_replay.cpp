// The passes over a trace for the levels of driver_levels.h: the peak or another moment, the memory
// held there, and the level over time.
#include <algorithm>
#include <utility>

#include "driver_levels.h"
#include "moment_event.h"
#include "report/replay/levels/choose_device.h"
#include "report/replay/levels/level_replay.h"
#include "report/replay/totals/timeline_builder.h"
#include "report/trace/file/trace_error.h"

namespace peakline::report {
namespace {

struct Peak {
    uint64_t bytes = 0;
    // The last event that belongs to the moment; nullopt: it came before the first event.
    std::optional<uint64_t> event = 0;
};

// Finds the peaks of every device and of their sum, and the highest one in some ranges of events.
class PeakFollower : public BlockFollower {
public:
    PeakFollower(const TraceReader& reader, DriverMeasure measure, const Moment& moment)
        : levels_(reader.definitions(), measure),
          is_peak_anywhere_(moment.kind != MomentKind::kPhase),
          ranges_(moment.phase_ranges) {}

    void restore(const Checkpoint& checkpoint) {
        levels_.restore(checkpoint);
        is_restored_ = true;
        for (const auto& [number, level] : levels_.by_device()) {
            begin_at(level.bytes(), checkpoint.tick, &totals_[number], &peaks_[number]);
        }
        begin_at(levels_.bytes(std::nullopt), checkpoint.tick, &sum_, &sum_peak_);
    }
    // The level at the beginning of a range counts, even if nothing changes it.
    void before_event(EventTime at) {
        while (next_range_ < ranges_.size() && at.event >= ranges_[next_range_].end) {
            ++next_range_;
        }
        const bool was_within = is_within_;
        is_within_ = next_range_ < ranges_.size() && at.event >= ranges_[next_range_].begin;
        if (is_within_ && !was_within && (at.event != 0 || is_restored_)) {
            const auto before = at.event != 0 ? std::optional(at.event - 1) : std::nullopt;
            for (const auto& [number, level] : levels_.by_device()) {
                raise(level.bytes(), before, &peaks_[number]);
            }
            raise(levels_.bytes(std::nullopt), before, &sum_peak_);
        }
    }
    void on_rare(const RareEvent& event, EventTime at) {
        levels_.apply(event);
        for (const auto& [number, level] : levels_.by_device()) {
            follow(level.bytes(), at, &totals_[number], &peaks_[number]);
        }
        follow(levels_.bytes(std::nullopt), at, &sum_, &sum_peak_);
    }

    std::vector<DeviceTotals> devices() const {
        std::vector<DeviceTotals> devices;
        for (const auto& [number, totals] : totals_) {
            devices.push_back(totals);
            devices.back().device = number;
        }
        return devices;
    }
    const DeviceTotals& sum() const { return sum_; }
    std::optional<uint64_t> peak_event(std::optional<uint32_t> device) const {
        const auto found = device ? peaks_.find(*device) : peaks_.end();
        return !device                 ? sum_peak_.event
               : found == peaks_.end() ? Peak().event
                                       : found->second.event;
    }

private:
    void follow(uint64_t bytes, EventTime at, DeviceTotals* totals, Peak* peak) {
        if (bytes > totals->level_bytes) {
            totals->total_allocated_bytes += bytes - totals->level_bytes;
            ++totals->alloc_count;
        }
        totals->free_count += bytes < totals->level_bytes ? 1 : 0;
        totals->level_bytes = bytes;
        if (bytes > totals->peak_bytes) {
            totals->peak_bytes = bytes;
            totals->peak_tick = at.tick;
        }
        if (is_peak_anywhere_ || is_within_) {
            raise(bytes, at.event, peak);
        }
    }
    void begin_at(uint64_t bytes, uint64_t tick, DeviceTotals* totals, Peak* peak) const {
        totals->level_bytes = totals->peak_bytes = bytes;
        totals->peak_tick = tick;
        if (is_peak_anywhere_) {
            raise(bytes, std::nullopt, peak);
        }
    }
    static void raise(uint64_t bytes, std::optional<uint64_t> event, Peak* peak) {
        if (bytes > peak->bytes) {
            *peak = {bytes, event};
        }
    }

    DriverLevels levels_;
    bool is_peak_anywhere_;
    const std::vector<EventRange>& ranges_;  // in order
    size_t next_range_ = 0;
    bool is_within_ = false;
    bool is_restored_ = false;
    std::map<uint32_t, DeviceTotals> totals_;
    std::map<uint32_t, Peak> peaks_;
    DeviceTotals sum_;
    Peak sum_peak_;
};

class MomentFollower : public BlockFollower {
public:
    MomentFollower(const TraceReader& reader,
                   DriverMeasure measure,
                   std::optional<uint64_t> last_event,
                   std::optional<uint32_t> device)
        : levels_(reader.definitions(), measure), last_event_(last_event), device_(device) {}

    void restore(const Checkpoint& checkpoint) {
        levels_.restore(checkpoint);
        if (!last_event_) {
            blocks_ = levels_.blocks(device_);
        }
    }
    void on_rare(const RareEvent& event, EventTime at) {
        if (!blocks_ && at.event > last_event_.value_or(0)) {
            blocks_ = levels_.blocks(device_);
        }
        levels_.apply(event);
    }
    LiveBlocks finish() { return blocks_ ? *std::move(blocks_) : levels_.blocks(device_); }

private:
    DriverLevels levels_;
    std::optional<uint64_t> last_event_;  // nullopt: none
    std::optional<uint32_t> device_;
    std::optional<LiveBlocks> blocks_;
};

class TimeFollower : public BlockFollower {
public:
    TimeFollower(const TraceReader& reader,
                 DriverMeasure measure,
                 std::optional<uint32_t> device,
                 TimelineBuilder& builder)
        : levels_(reader.definitions(), measure), device_(device), builder_(builder) {
        const Checkpoint* const checkpoint = reader.checkpoint();
        if (checkpoint != nullptr) {
            levels_.restore(*checkpoint);
            bytes_ = levels_.bytes(device_);
        }
        builder_.set_level(checkpoint != nullptr ? checkpoint->tick : 0, bytes_);
    }

    void on_rare(const RareEvent& event, EventTime at) {
        levels_.apply(event);
        const uint64_t bytes = levels_.bytes(device_);
        if (bytes != bytes_) {
            builder_.set_level(at.tick, bytes);
            bytes_ = bytes;
        }
    }

private:
    DriverLevels levels_;
    std::optional<uint32_t> device_;
    TimelineBuilder& builder_;
    uint64_t bytes_ = 0;
};

void need_driver_records(const TraceReader& reader, DriverMeasure measure) {
    need_standing(
        reader,
        std::string("--measure ") + (measure == DriverMeasure::kDevice ? "device" : "reserved"));
}

}  // namespace

ReplayResult replay_driver(const TraceReader& reader,
                           const Selection& selection,
                           const PhaseRules& phase_rules,
                           const Progress& progress) {
    const DriverMeasure measure = *selection.driver_measure;
    need_driver_records(reader, measure);
    ReplayRequest request = selection.request;
    request.phase_rules = &phase_rules;
    Moment& moment = request.moment;
    if (moment.kind == MomentKind::kPhase) {
        find_phase_ranges(reader, &request, progress);
    }
    const bool is_peak = moment.kind == MomentKind::kPeak || moment.kind == MomentKind::kPhase;

    BlockStream stream(reader);
    const ReplayRequest facts;  // of the run: refused requests, values read, what is missing
    LevelReplay levels(stream, facts);
    PeakFollower follower(reader, measure, moment);
    stream.run(progress, levels, follower);
    ReplayResult result = levels.finish();
    result.devices = follower.devices();
    result.is_sum = request.device.kind == DeviceChoiceKind::kAll;
    result.chosen = result.is_sum ? follower.sum()
                                  : choose_device(result.devices, request.device, reader.name());
    if (follower.sum().peak_bytes == 0) {
        throw TraceError(reader.name() + ": this trace has no records of the driver: record " +
                         "it again with this peakline");
    }
    const auto device = result.is_sum ? std::nullopt : std::optional(result.chosen.device);
    const std::optional<uint64_t> last_event =
        is_peak ? follower.peak_event(device) : find_moment_event(reader, request, progress).event;
    BlockStream again(reader);
    MomentFollower at_moment(reader, measure, last_event, device);
    again.run(progress, at_moment);
    result.blocks = at_moment.finish();
    return result;
}

Timeline make_driver_timeline(const TraceReader& reader,
                              DriverMeasure measure,
                              const TimelineRequest& request,
                              const Progress& progress) {
    need_driver_records(reader, measure);
    TimelineBuilder builder(first_event_tick(reader),
                            std::max(first_event_tick(reader), reader.last_tick()),
                            std::max<uint64_t>(request.point_count, 1));
    BlockStream stream(reader);
    TimeFollower follower(reader, measure, request.device, builder);
    stream.run(progress, follower);
    Timeline timeline = builder.finish();
    timeline.whole_peak_bytes = timeline.peak_bytes;
    timeline.whole_peak_tick = timeline.peak_tick;
    timeline.skipped_chunk_count = stream.totals().skipped_chunk_count;
    return timeline;
}

}  // namespace peakline::report
