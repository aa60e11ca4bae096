// Levels of --measure reserved and device: the memory in segments of torch's allocator, and all
// memory requested from the driver; by device, over the events. At a moment they are live blocks
// like torch's, so every table can show them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "driver_memory.h"
#include "report/replay/totals/timeline.h"
#include "report/replay/values/replay_result.h"
#include "report/trace/reader.h"
#include "report/views/segments/segment_pieces.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// The level of one device.
class DriverLevel {
public:
    DriverLevel(const Definitions& definitions, uint32_t device, DriverMeasure measure)
        : device_(device), measure_(measure), pieces_(definitions, device), memory_(device) {}

    void restore(const Checkpoint& checkpoint) {
        pieces_.restore(checkpoint);
        memory_.restore(checkpoint);
    }
    void apply(const RareEvent& event) {
        pieces_.on_rare(event);
        memory_.apply(event);
    }
    uint64_t bytes() const;
    // Adds the blocks of the level; they sum to it.
    void add_blocks(LiveBlocks* blocks) const;
    const SegmentPieces& pieces() const { return pieces_; }
    // Adds groups by the requests under a piece; they sum to it.
    void add_piece(const StateSegment& piece, LiveBlocks* blocks) const;

private:
    // Torch's other backend has no segments: its blocks are parts of a CUDA pool.
    bool counts_pools() const {
        return measure_ == DriverMeasure::kDevice || !pieces_.settings().is_native;
    }
    void add_segments(LiveBlocks* blocks) const;
    void add_requests(LiveBlocks* blocks) const;

    uint32_t device_;
    DriverMeasure measure_;
    SegmentPieces pieces_;
    DriverMemory memory_;
};

// The levels of all devices with memory from the driver.
class DriverLevels {
public:
    using ByDevice = std::map<uint32_t, DriverLevel>;

    DriverLevels(const Definitions& definitions, DriverMeasure measure)
        : definitions_(definitions), measure_(measure) {}

    // Call it before the first event of a stream that begins at a checkpoint.
    void restore(const Checkpoint& checkpoint);
    void apply(const RareEvent& event);
    const ByDevice& by_device() const { return devices_; }
    // nullopt: all devices.
    uint64_t bytes(std::optional<uint32_t> device) const;
    LiveBlocks blocks(std::optional<uint32_t> device) const;

private:
    const Definitions& definitions_;
    DriverMeasure measure_;
    ByDevice devices_;
};

// Returns the result of replay() in the measure of `selection`. Throws TraceError when the trace
// lacks the driver's records.
ReplayResult replay_driver(const TraceReader& reader,
                           const Selection& selection,
                           const PhaseRules& phase_rules,
                           const Progress& progress);

Timeline make_driver_timeline(const TraceReader& reader,
                              DriverMeasure measure,
                              const TimelineRequest& request,
                              const Progress& progress);

}  // namespace peakline::report
