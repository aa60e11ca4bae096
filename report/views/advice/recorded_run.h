// A recording as the rules of `advise` and the plans of `plan` see it: its phases, its peak, and
// every block with its life. Pure aggregation.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "report/attribute/block_keys.h"
#include "report/replay/all_facts.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"
#include "rules/rule.h"

namespace peakline::report {

// The peaks of a run, and of the run with each of these changes: the run itself first.
std::vector<LevelPeak> altered_peaks(const TraceReader& reader,
                                     format::Measure measure,
                                     std::optional<uint32_t> device,
                                     std::vector<LevelChanges> alternatives,
                                     const Progress& progress);

class RecordedRun {
public:
    using Origins = std::map<GroupKey, BlockOrigin>;

    // All must outlive this, except `progress`. Replays the trace twice.
    RecordedRun(const TraceReader& reader,
                const Selection& selection,
                StackLookup& stacks,
                const Progress& progress);
    RecordedRun(const RecordedRun&) = delete;
    RecordedRun& operator=(const RecordedRun&) = delete;

    const RunFacts& facts() const { return *facts_; }
    const TraceHealth& health() const { return found_.health; }
    const DeviceTotals& device() const { return device_; }
    bool is_sum() const { return is_sum_; }
    // nullopt: all devices together.
    std::optional<uint32_t> device_number() const {
        return is_sum_ ? std::nullopt : std::optional(device_.device);
    }
    // The peak is among the events that the trace keeps.
    bool is_peak_kept() const { return facts_->peak.bytes == device_.peak_bytes; }

    // Calls see() with every block of the device, in the order they were made. Their origins live
    // as long as this.
    void follow_blocks(const Progress& progress, const std::function<void(const RunBlock&)>& see);

private:
    const TraceReader& reader_;
    StackLookup& stacks_;
    BlockStream stream_;
    bool is_sum_;
    PhaseReplay phases_;
    AllFacts lives_;
    PhaseResult found_;
    DeviceTotals device_;
    std::optional<RunFacts> facts_;
    std::list<Origins> origins_;  // of each pass over the blocks
};

}  // namespace peakline::report
