// Levels of --measure reserved and device: what torch's allocator holds in segments, and what
// anybody holds that asked the driver; by device, over the events. At a moment they are live blocks
// like torch's, so every table serves them.
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

// Of one device.
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
    // What makes the level; sums to it.
    void add_blocks(LiveBlocks* blocks) const;
    const SegmentPieces& pieces() const { return pieces_; }
    // Groups of who asked for a piece; they sum to it.
    void add_piece(const StateSegment& piece, LiveBlocks* blocks) const;

private:
    // Torch's other backend has no segments: its blocks are parts of a pool of CUDA.
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

// Of all devices that the driver gave memory of.
class DriverLevels {
public:
    using ByDevice = std::map<uint32_t, DriverLevel>;

    DriverLevels(const Definitions& definitions, DriverMeasure measure)
        : definitions_(definitions), measure_(measure) {}

    // Before the first event of a stream that begins at a checkpoint.
    void restore(const Checkpoint& checkpoint);
    void apply(const RareEvent& event);
    const ByDevice& by_device() const { return devices_; }
    // nullopt: of all.
    uint64_t bytes(std::optional<uint32_t> device) const;
    LiveBlocks blocks(std::optional<uint32_t> device) const;

private:
    const Definitions& definitions_;
    DriverMeasure measure_;
    ByDevice devices_;
};

// The answer of replay() in the measure that `selection` names. Throws TraceError when the trace
// does not say what the driver gave.
ReplayResult replay_driver(const TraceReader& reader,
                           const Selection& selection,
                           const PhaseRules& phase_rules,
                           const Progress& progress);

Timeline make_driver_timeline(const TraceReader& reader,
                              DriverMeasure measure,
                              const TimelineRequest& request,
                              const Progress& progress);

}  // namespace peakline::report
