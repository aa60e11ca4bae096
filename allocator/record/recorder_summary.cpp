// What the recorder writes in SUMMARY records: the peaks in memory for reports without a file, and
// the checkpoints of files that keep less than every event.
#include <algorithm>
#include <cstring>

#include "recorder.h"

namespace peakline::record {
namespace {

using format::Measure;
using format::SummaryType;

template <class Record>
uint64_t* put_fields(const Record& record, uint64_t* out) {
    const auto fields = format::fields_of(record);
    return std::copy(fields.begin(), fields.end(), out);
}

void put_groups(TraceWriter& writer, SummaryType type, const MappedArray<BlockGroup>& groups) {
    for (const BlockGroup& group : groups) {
        const uint64_t values[] = {
            group.context, group.requested_bytes, group.block_bytes, group.count, group.stream};
        writer.put_summary(type, values, 5);
    }
}

// Of a view at the end of a whole trace; a group takes some ten bytes.
constexpr uint64_t kMostEndGroups = 2000;
constexpr uint64_t kEventsPerEndGroup = 64;

struct Counts {
    uint64_t allocs;
    uint64_t frees;
};

void put_view(TraceWriter& writer,
              ViewOf view,
              const PeakTracker& tracker,
              uint64_t level_bytes,
              Counts counts) {
    const uint64_t values[] = {view.device,
                               static_cast<uint64_t>(view.measure),
                               tracker.peak_bytes(),
                               tracker.peak_tick(),
                               level_bytes,
                               tracker.total_allocated_bytes(),
                               counts.allocs,
                               counts.frees};
    writer.put_summary(SummaryType::kView, values, 8);
}

// At this moment.
void put_view(TraceWriter& writer, ViewOf view, const PeakTracker& tracker, Counts counts) {
    put_view(writer, view, tracker, tracker.level_bytes(), counts);
}

}  // namespace

void Recorder::put_view_groups(TraceWriter& writer, uint32_t device, Measure measure) {
    const DeviceState& state = devices_[device];
    const ViewOf view{device, measure};
    const PeakTracker& tracker = measure == Measure::kAllocated ? state.allocated : state.requested;
    put_view(writer, view, tracker, {state.allocs, state.frees});
    MappedArray<BlockGroup> groups;
    if (gather_peak_groups(tracker, live_set_, view, groups)) {
        put_groups(writer, SummaryType::kPeakGroup, groups);
    }
    if (gather_live_groups(live_set_, view, groups)) {
        put_groups(writer, SummaryType::kLiveGroup, groups);
    }
}

void Recorder::put_trouble(TraceWriter& writer) const {
    const uint64_t trouble[] = {counters_.records_dropped, counters_.bytes_dropped};
    writer.put_summary(SummaryType::kTrouble, trouble, 2);
}

// ---- the end of a whole trace -----------------------------------------------------------------

void Recorder::begin_end_views() {
    peaks_are_of_trace_ = true;
    for (DeviceState& state : devices_) {
        state.allocs_before_trace = state.allocs;
        state.end_allocated_bytes = state.end_requested_bytes = 0;
    }
    // Those that live are written again as the first allocations of the file.
    live_set_.for_each(
        [this](const LiveBlock& block) { --devices_[block.device].allocs_before_trace; });
}

void Recorder::put_end_views() {
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        const DeviceState& state = devices_[device];
        const bool is_in_trace = state.used && state.allocs != state.allocs_before_trace;
        if (is_in_trace && (!put_end_view(device, Measure::kAllocated) ||
                            !put_end_view(device, Measure::kRequested))) {
            return;
        }
    }
    writer_.put_views_end();
}

// False when the view is not exact, or where its groups would make a short file much longer: there
// the events are read in no time.
bool Recorder::put_end_view(uint32_t device, Measure measure) {
    const DeviceState& state = devices_[device];
    const bool allocated = measure == Measure::kAllocated;
    const PeakTracker& tracker = allocated ? state.allocated : state.requested;
    const ViewOf view{device, measure};
    MappedArray<BlockGroup> groups;
    if (tracker.side_dropped_count() != 0 ||
        !gather_peak_groups(tracker, live_set_, view, groups) ||
        groups.size() > kMostEndGroups + writer_.event_count() / kEventsPerEndGroup) {
        return false;
    }
    uint64_t live_count = 0;
    live_set_.for_each([&](const LiveBlock& block) { live_count += view.counts(block) ? 1 : 0; });
    const uint64_t allocs = state.allocs - state.allocs_before_trace;
    const uint64_t level_bytes = writer_.main_end_tick() == 0 ? tracker.level_bytes()
                                 : allocated                  ? state.end_allocated_bytes
                                                              : state.end_requested_bytes;
    put_view(writer_, view, tracker, level_bytes, {allocs, allocs - live_count});
    put_groups(writer_, SummaryType::kPeakGroup, groups);
    return true;
}

bool Recorder::write_summary(MemoryTarget* target, const char* simulated) {
    const LockGuard guard(lock_);
    if (!usable_ || !target->create(superblock(nullptr, Keep{}))) {
        return false;
    }
    TraceWriter writer;
    writer.open(target, &table_);
    if (simulated[0] != '\0') {
        writer.put_meta("simulated", simulated, std::strlen(simulated));
    }
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        if (devices_[device].used) {
            put_view_groups(writer, device, Measure::kAllocated);
            put_view_groups(writer, device, Measure::kRequested);
        }
    }
    put_trouble(writer);
    writer.close();
    return writer.error() == 0;
}

// ---- checkpoints ------------------------------------------------------------------------------

void Recorder::write_checkpoint_slow() {
    if (steps_.ends_part() && is_tracing()) {
        end_step();
    }
    writer_.begin_checkpoint({next_ordinal_, clock_.now_tick(), is_tracing()});
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        DeviceState& state = devices_[device];
        if (!state.used) {
            continue;
        }
        const ViewOf allocated{device, Measure::kAllocated};
        const ViewOf requested{device, Measure::kRequested};
        state.allocated_groups.update(state.allocated, live_set_, allocated);
        state.requested_groups.update(state.requested, live_set_, requested);
        put_view(writer_, allocated, state.allocated, {state.allocs, state.frees});
        put_groups(writer_, SummaryType::kPeakGroup, state.allocated_groups.groups);
        put_view(writer_, requested, state.requested, {state.allocs, state.frees});
        put_groups(writer_, SummaryType::kPeakGroup, state.requested_groups.groups);
    }
    put_phases();
    put_baseline();
    put_step_history();
    put_refusals();
    put_trouble(writer_);
    const uint64_t dropped_phases = phases_.dropped_count();
    writer_.put_summary(SummaryType::kLimits, &dropped_phases, 1);
    writer_.end_checkpoint();
}

void Recorder::put_phases() {
    phases_.gather(live_set_);
    for (uint32_t i = 0; i < phases_.view_count(); ++i) {
        const PhasePeaks::View& view = phases_.views()[i];
        const uint64_t values[] = {view.phase, phases_.depth_of(view.phase)};
        writer_.put_summary(SummaryType::kPhase, values, 2);
        put_view(writer_, {view.device, Measure::kAllocated}, view.allocated, {0, 0});
        put_groups(writer_, SummaryType::kPeakGroup, view.allocated_groups.groups);
        put_view(writer_, {view.device, Measure::kRequested}, view.requested, {0, 0});
        put_groups(writer_, SummaryType::kPeakGroup, view.requested_groups.groups);
    }
    for (uint32_t i = 0; i < phases_.open_count(); ++i) {
        const PhasePeaks::OpenPhase& open = phases_.open_phases()[i];
        const uint64_t values[] = {open.phase, open.depth};
        writer_.put_summary(SummaryType::kPhase, values, 2);
    }
}

void Recorder::put_baseline() {
    live_set_.for_each([this](const LiveBlock& block) {
        const bool is_deferred = (block.flags & kFreeRequested) != 0;
        writer_.put_baseline_block(AllocEvent{block.address,
                                              block.requested_bytes,
                                              block.block_bytes,
                                              block.context,
                                              block.stream,
                                              block.device},
                                   next_ordinal_ - block.ordinal,
                                   is_deferred ? uint32_t{format::kBlockDeferred} : 0);
    });
}

void Recorder::put_step_history() {
    if (!steps_.is_whole()) {
        return;
    }
    const uint64_t head[] = {
        static_cast<uint64_t>(steps_.source()), steps_.step_count(), steps_.steps_per_sample()};
    writer_.put_summary(SummaryType::kStepHistory, head, 3);
    size_t at = 0;
    for (const StepHistory::Sample& sample : steps_.samples()) {
        const StepHistory::Moment& moment = sample.at;
        const uint64_t values[] = {
            moment.tick, moment.next_ordinal, moment.level_bytes, moment.peak_bytes};
        writer_.put_summary(SummaryType::kStepSample, values, 4);
        for (; at < sample.change_end; ++at) {
            const StepHistory::Change& change = steps_.changes()[at];
            const auto [context, device] = steps_.place_of(change.slot);
            const uint64_t fields[] = {context,
                                       device,
                                       format::zigzag(change.block_bytes),
                                       format::zigzag(change.requested_bytes),
                                       format::zigzag(change.count)};
            writer_.put_summary(SummaryType::kLevelChange, fields, 5);
        }
    }
    const uint64_t sample_count = steps_.samples().size();
    writer_.put_summary(SummaryType::kStepHistoryEnd, &sample_count, 1);
}

void Recorder::put_refusals() {
    for (size_t i = 0; i < refusals_.kept_count(); ++i) {
        const RefusalHistory::Refused& one = refusals_.kept(i);
        uint64_t values[TraceWriter::kMaxSummaryValues] = {one.tick};
        uint64_t* out = put_fields(one.refusal, put_fields(one.request, values + 1));
        for (const uint64_t value :
             {one.pool, one.live_bytes, one.reserved_bytes, one.waiting_bytes}) {
            *out++ = value;
        }
        writer_.put_summary(SummaryType::kRefused, values, static_cast<size_t>(out - values));
        put_groups(writer_, SummaryType::kRefusedGroup, refusals_.groups(i));
    }
    const uint64_t count = refusals_.count();
    writer_.put_summary(SummaryType::kRefusalsEnd, &count, 1);
}

void Recorder::update_phases() {
    PhasePeaks::DeviceLevel levels[format::kDeviceCount];
    uint32_t count = 0;
    for (uint32_t device = 0; device < format::kDeviceCount; ++device) {
        const DeviceState& state = devices_[device];
        if (state.used) {
            levels[count++] = PhasePeaks::DeviceLevel{
                device, state.allocated.level_bytes(), state.requested.level_bytes()};
        }
    }
    phases_.update(
        {levels, count, next_ordinal_ - 1, clock_.now_tick(), next_ordinal_ > 0, is_tracing()},
        live_set_);
    writer_.let_repeat(is_tracing() && !phases_.is_active());
}

}  // namespace peakline::record
