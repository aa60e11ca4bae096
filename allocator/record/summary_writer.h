// Writes the recorder's counts as SUMMARY records: the peaks for reports without a file, those at
// the end of a complete trace, and the checkpoints of files that do not keep every event.
// Slow operations of the recorder, under its lock.
#pragma once

#include <cstdint>

#include "allocator/record/levels/device_levels.h"
#include "allocator/record/levels/live_set.h"
#include "allocator/record/levels/phase_peaks.h"
#include "allocator/record/levels/refusal_history.h"
#include "allocator/record/levels/step_history.h"
#include "allocator/record/writer/trace_writer.h"

namespace peakline::record {

// The recorder's counts.
struct Counted {
    const LiveSet& live_set;
    DeviceLevels* devices;  // format::kDeviceCount of them
    PhasePeaks& phases;
    const StepHistory& steps;
    const RefusalHistory& refusals;
    uint64_t next_ordinal;
    uint64_t records_dropped;
    uint64_t bytes_dropped;
};

class SummaryWriter {
public:
    SummaryWriter(const Counted& counted, TraceWriter& writer) : of_(counted), writer_(writer) {}

    // Peaks and live blocks of this moment.
    void put_views();
    // See Note [Views at the end] in trace_format.h.
    void put_end_views();
    // The caller begins and ends the checkpoint.
    void put_checkpoint();

private:
    void put_view_groups(ViewOf view);
    bool put_end_view(ViewOf view);
    void put_trouble();
    void put_phases();
    void put_baseline();
    void put_step_history();
    void put_refusals();

    Counted of_;
    TraceWriter& writer_;
};

}  // namespace peakline::record
