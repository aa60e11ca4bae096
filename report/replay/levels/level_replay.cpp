// Marks, moments and the result of following levels.
#include "level_replay.h"

#include <algorithm>
#include <cstdio>

#include "choose_device.h"
#include "report/replay/blocks/out_of_memory.h"

namespace peakline::report {
namespace {

using format::Measure;

Measure other(Measure measure) {
    return measure == Measure::kAllocated ? Measure::kRequested : Measure::kAllocated;
}

const DeviceView* view_at(const DeviceTrackers& trackers, uint32_t slot) {
    return slot < trackers.views().size() ? trackers.views()[slot].get() : nullptr;
}

}  // namespace

LevelReplay::LevelReplay(const BlockStream& stream, const ReplayRequest& request)
    : stream_(stream), reader_(stream.reader()), request_(request) {
    const uint64_t max_allocs = reader_.max_alloc_count();
    const bool sums = request.device.kind == DeviceChoiceKind::kAll;
    const DeviceSum requested = sums ? DeviceSum::kAll : DeviceSum::kEach;
    trackers_.emplace_back(request.measure, DeviceSum::kEach, max_allocs);
    if (sums) {
        requested_index_ = trackers_.size();
        trackers_.emplace_back(request.measure, requested, max_allocs);
    }
    if (request.moment.kind == MomentKind::kPhase) {
        phase_index_ = trackers_.size();
        trackers_.emplace_back(request.measure, requested, max_allocs);
        if (!request.moment.phase_ranges.empty()) {
            next_boundary_ = request.moment.phase_ranges.front().begin;
        }
    }
    if (request.with_other_measure) {
        other_measure_index_ = trackers_.size();
        trackers_.emplace_back(other(request.measure), DeviceSum::kEach, max_allocs);
    }
    if (request.moment.kind == MomentKind::kTime) {
        moment_tick_ = reader_.tick_of(request.moment.seconds);
    }
}

void LevelReplay::on_rare(const RareEvent& event, EventTime at) {
    value_reads_.on_rare(event);
    if (const auto mark = event.as<format::Mark>()) {
        if (mark->kind == format::MarkKind::kTracingStarted ||
            mark->kind == format::MarkKind::kTracingStopped) {
            tracing_ = mark->kind == format::MarkKind::kTracingStarted;
            update_tracking(at.tick);
        }
    } else if (const auto failed = event.as<format::OutOfMemory>()) {
        const uint64_t earlier = out_of_memory_.count;
        out_of_memory_ = out_of_memory_at(at.tick, *failed, reader_.definitions());
        out_of_memory_.count += earlier;
        if (request_.moment.kind == MomentKind::kOutOfMemory && at.event == request_.moment.event) {
            keep_moment();
        }
    }
}

void LevelReplay::on_main_end(EventTime) {
    for (DeviceTrackers& trackers : trackers_) {
        trackers.end_main();
    }
    if (request_.moment.kind == MomentKind::kEnd) {
        keep_moment();
    }
}

void LevelReplay::pass_boundary(uint64_t tick) {
    const std::vector<EventRange>& ranges = request_.moment.phase_ranges;
    in_phase_ = !in_phase_;
    if (in_phase_) {
        next_boundary_ = ranges[next_range_].end;
    } else {
        ++next_range_;
        next_boundary_ = next_range_ < ranges.size() ? ranges[next_range_].begin : UINT64_MAX;
    }
    update_tracking(tick);
}

void LevelReplay::update_tracking(uint64_t tick) {
    for (size_t i = 0; i < trackers_.size(); ++i) {
        const bool in_phase = phase_index_ != i || in_phase_;
        if (tracing_ && in_phase) {
            trackers_[i].start(tick);
            phase_tracked_ = phase_tracked_ || phase_index_ == i;
        } else {
            trackers_[i].stop();
        }
    }
}

// Makes the group of one block, with its tensor.
BlockGroup LevelReplay::group_of(uint64_t ordinal, const AllocationShape& shape) const {
    return {shape.context,
            shape.stream,
            shape.device,
            shape.requested_bytes,
            shape.block_bytes,
            1,
            reader_.definitions().tensor_of(ordinal)};
}

void LevelReplay::collect_live(const DeviceTrackers& trackers,
                               uint32_t slot,
                               uint64_t end,
                               BlockGroups& groups) const {
    const AllocationTable& table = stream_.table();
    table.for_each_live(end, [&](uint64_t ordinal) {
        const AllocationShape* shape = table.shape(ordinal);
        const bool ended = request_.measure == Measure::kAllocated && table.is_deferred(ordinal);
        if (shape == nullptr || ended || trackers.slot_of(shape->device) != slot) {
            return;
        }
        groups.add(ordinal, group_of(ordinal, *shape));
    });
}

LiveBlocks LevelReplay::live_blocks(const DeviceTrackers& trackers, uint32_t slot) const {
    LiveBlocks blocks;
    const DeviceView* view = view_at(trackers, slot);
    if (view == nullptr) {
        return blocks;
    }
    BlockGroups groups(request_.detail);
    collect_live(trackers, slot, stream_.next_ordinal(), groups);
    blocks.groups = groups.list();
    blocks.blocks = groups.take_blocks();
    blocks.level_bytes = view->tracker.level_bytes();
    return blocks;
}

LiveBlocks LevelReplay::peak_blocks(size_t index, uint32_t slot) const {
    const DeviceTrackers& trackers = trackers_[index];
    LiveBlocks blocks;
    const DeviceView* view = view_at(trackers, slot);
    if (view == nullptr || !view->tracker.has_peak()) {
        return view == nullptr || reader_.checkpoint() == nullptr ? blocks
                                                                  : restored_blocks(index, slot);
    }
    BlockGroups groups(request_.detail);
    // The tracker's ordinals count from 1: the peak's own allocation is the last one below `end`.
    const uint64_t end = std::min(view->tracker.peak_ordinal(), stream_.next_ordinal());
    collect_live(trackers, slot, end, groups);
    for (const FreedBlock& block : view->tracker.freed_since_peak()) {
        groups.add(block.ordinal - 1, group_of(block.ordinal - 1, block.shape));
    }
    blocks.groups = groups.list();
    blocks.blocks = groups.take_blocks();
    blocks.level_bytes = view->tracker.peak_bytes();
    return blocks;
}

void LevelReplay::keep_moment() {
    at_moment_ = true;
    moment_ordinal_ = stream_.next_ordinal();
    const DeviceTrackers& requested = trackers_[requested_index_];
    for (uint32_t slot = 0; slot < requested.views().size(); ++slot) {
        moment_blocks_.push_back(live_blocks(requested, slot));
    }
}

LiveBlocks LevelReplay::requested_blocks(uint32_t slot) const {
    switch (request_.moment.kind) {
        case MomentKind::kPeak:
            return peak_blocks(requested_index_, slot);
        case MomentKind::kPhase:
            return peak_blocks(*phase_index_, slot);
        case MomentKind::kTime:
        case MomentKind::kEnd:
        case MomentKind::kOutOfMemory:
            if (at_moment_) {
                return slot < moment_blocks_.size() ? moment_blocks_[slot] : LiveBlocks();
            }
            break;
    }
    return live_blocks(trackers_[requested_index_], slot);
}

// A moment after the end would look as if the program had freed everything. Reports show the end
// rounded, so a time up to the rounding later counts as the end.
void LevelReplay::check_moment() const {
    const double end_seconds = reader_.seconds(stream_.totals().last_tick);
    const double rounding = end_seconds < 10 ? 0.0005 : 0.05;
    if (request_.moment.kind == MomentKind::kTime &&
        request_.moment.seconds > end_seconds + rounding) {
        char text[96];
        std::snprintf(text,
                      sizeof text,
                      ": --at %g: the trace ends at t=%.3f s; --at end is its end",
                      request_.moment.seconds,
                      end_seconds);
        throw TraceError(reader_.name() + text);
    }
}

void LevelReplay::check_traced() const {
    if (phase_index_.has_value() && !phase_tracked_) {
        throw TraceError(reader_.name() + ": phase '" + request_.moment.phase +
                         "' lies outside the traced ranges; start tracing before it");
    }
}

void LevelReplay::add_problems(ReplayResult* result) const {
    if (!stream_.tracing_seen()) {
        result->health.problems.add(reader_.name() +
                                    ": tracing was never started in this trace, so it has no peak;"
                                    " --at end shows the blocks that were live at its end");
    }
    if (sum_is_cut_) {
        result->health.problems.add(reader_.name() +
                                    ": the peak of all devices together is known from the kept"
                                    " events only; use --device N, or record with --keep all");
    }
}

ReplayResult LevelReplay::finish() {
    check_moment();
    check_traced();
    ReplayResult result;
    result.devices = all_totals(trackers_[0]);
    if (other_measure_index_.has_value()) {
        result.other_measure = all_totals(trackers_[*other_measure_index_]);
    }
    result.is_sum = request_.device.kind == DeviceChoiceKind::kAll;
    result.chosen = result.is_sum
                        ? choose_device(all_totals(trackers_[requested_index_]), {}, reader_.name())
                        : choose_device(result.devices, request_.device, reader_.name());
    result.blocks = requested_blocks(result.chosen.device);
    result.value_reads = value_reads_.take();
    result.out_of_memory = out_of_memory_;
    result.health = stream_.health();
    add_problems(&result);
    return result;
}

}  // namespace peakline::report
