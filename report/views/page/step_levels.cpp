#include "step_levels.h"

#include <algorithm>
#include <optional>

#include "first_pass.h"
#include "report/replay/blocks/ordinal_table.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {
namespace {

constexpr size_t kMostSteps = 512;
constexpr size_t kMostParts = 2'048;  // of all steps together
constexpr size_t kMostPartsOfStep = 64;

GrowthMoments step_moments(const PhaseTable& table, uint64_t event_count) {
    constexpr size_t kLeastBounds = 2;
    GrowthMoments moments = growth_moments(table, event_count, nullptr, kMostSteps);
    return moments.bounds.size() < kLeastBounds ? parts_of_run(event_count) : moments;
}

// The events at which parts end: each range between two bounds has `per_step` of them.
std::vector<uint64_t> ends_of_parts(const std::vector<uint64_t>& bounds,
                                    uint64_t event_count,
                                    size_t per_step) {
    std::vector<uint64_t> ends;
    uint64_t begin = 0;
    for (size_t i = 0; i <= bounds.size(); ++i) {
        const uint64_t end = i < bounds.size() ? bounds[i] : std::max(event_count, begin);
        for (size_t part = 1; part <= per_step; ++part) {
            ends.push_back(begin + (end - begin) * part / per_step);
        }
        begin = end;
    }
    return ends;
}

class StepLevelFollower : public BlockFollower {
public:
    StepLevelFollower(const ReplayRequest& request,
                      const AllFacts& facts,
                      PageContexts& contexts,
                      StepLevels& levels,
                      std::vector<uint64_t> part_ends,
                      uint64_t max_alloc_count)
        : measure_(request.measure),
          counted_(request.device.kind == DeviceChoiceKind::kAll
                       ? std::nullopt
                       : std::optional(levels.chosen.device)),
          facts_(facts),
          contexts_(contexts),
          levels_(levels),
          part_ends_(std::move(part_ends)),
          context_of_(max_alloc_count) {}

    void restore(const Checkpoint& checkpoint) {
        level_.traced = checkpoint.tracing;
        for (uint64_t ordinal = 0; ordinal < checkpoint.blocks.size(); ++ordinal) {
            const BaselineBlock& block = checkpoint.blocks[ordinal];
            if (!(measure_ == format::Measure::kAllocated && block.is_deferred)) {
                count(ordinal, block.shape, 1, checkpoint.tick);
            }
        }
    }

    void before_event(EventTime at) {
        while (!is_over_ && closed_ < part_ends_.size() && at.event >= part_ends_[closed_]) {
            close_part(at.tick);
        }
    }
    void on_alloc(const BlockAlloc& block) { count(block.ordinal, block.shape, 1, block.at.tick); }
    void on_free(const BlockFree& block) {
        if (block.leaves(measure_)) {
            count(block.ordinal, block.shape, -1, block.at.tick);
        }
    }
    // Frees by the interpreter after main say nothing about the run.
    void on_main_end(EventTime) { is_over_ = true; }
    void on_rare(const RareEvent& event, EventTime at) {
        if (const auto mark = event.as<format::Mark>()) {
            if (mark->kind == format::MarkKind::kTracingStarted ||
                mark->kind == format::MarkKind::kTracingStopped) {
                level_.traced = mark->kind == format::MarkKind::kTracingStarted;
                consider({}, at.tick);
            }
        }
    }

    void finish(EventTime end) {
        while (closed_ < part_ends_.size()) {
            close_part(end.tick);
        }
    }

private:
    void count(uint64_t ordinal, const AllocationShape& shape, int sign, uint64_t tick) {
        if (is_over_ || !is_counted(counted_, shape.device)) {
            return;
        }
        if (context_of_.at(ordinal) == 0) {
            context_of_.put(ordinal, contexts_.of(shape, ordinal, facts_.of(ordinal)) + 1);
        }
        const uint32_t context = context_of_.at(ordinal) - 1;
        if (sign < 0) {
            context_of_.remove(ordinal);
        }
        const int64_t bytes = sign * static_cast<int64_t>(bytes_of(shape, measure_));
        level_.bytes += static_cast<uint64_t>(bytes);  // wraps, as the sums do
        consider({context, bytes, sign}, tick);
    }

    void consider(const PageChange& change, uint64_t tick) {
        sets_.add(change);
        if (level_.above(highest_)) {
            highest_ = level_;
            sets_.mark();
        }
        if (level_.above(part_.peak)) {
            part_ = {level_, tick};
        }
    }

    void close_part(uint64_t tick) {
        levels_.parts.push_back(part_);
        part_ = {level_, tick};
        if (++closed_ % levels_.parts_per_step == 0) {
            sets_.close(&levels_.changes);
            highest_ = level_;
            levels_.change_ends.push_back(levels_.changes.size());
        }
    }

    format::Measure measure_;
    std::optional<uint32_t> counted_;
    const AllFacts& facts_;
    PageContexts& contexts_;
    StepLevels& levels_;
    std::vector<uint64_t> part_ends_;
    OrdinalTable context_of_;  // of live blocks, plus one
    HighestSets sets_;
    Height highest_;  // of the step
    Height level_;
    StepPart part_;
    size_t closed_ = 0;  // parts
    bool is_over_ = false;
};

}  // namespace

StepLevels build_step_levels(const TraceReader& reader,
                             const Selection& selection,
                             StackLookup& stacks,
                             const Progress& progress) {
    const FirstPass first(reader, selection, stacks, progress);
    const PhaseResult& result = first.phases;
    StepLevels levels;
    levels.chosen = first.chosen;
    const uint64_t event_count = result.health.event_count;
    const GrowthMoments moments = step_moments(result.table, event_count);
    levels.unit = moments.unit;
    const uint64_t first_step = moments.unit == GrowthUnit::kStep ? result.table.first_step : 0;
    for (size_t i = 1; i < moments.first_units.size(); ++i) {
        levels.steps.push_back(first_step + moments.first_units[i]);
    }
    levels.end_step = levels.steps.empty() ? 0 : levels.steps.back() + moments.units_per_sample;
    levels.parts_per_step =
        std::clamp<size_t>(kMostParts / (moments.bounds.size() + 1), 1, kMostPartsOfStep);
    PageContexts contexts(stacks, result.table);
    StepLevelFollower follower(selection.request,
                               first.facts,
                               contexts,
                               levels,
                               ends_of_parts(moments.bounds, event_count, levels.parts_per_step),
                               reader.max_alloc_count());
    BlockStream stream(reader);
    stream.run(progress, follower);
    follower.finish(stream.end());
    levels.names = contexts.take();
    return levels;
}

}  // namespace peakline::report
