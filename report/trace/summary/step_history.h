// The recorder's summary of the steps before a checkpoint: see Note [Step history] in
// allocator/record/levels/step_history.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/record/format/trace_format.h"
#include "report/trace/definitions/definitions.h"
#include "report/trace/file/field_cursor.h"

namespace peakline::report {

// Growth of one context since the previous sample.
struct StepChange {
    uint32_t context = 0;
    uint32_t device = 0;
    int64_t block_bytes = 0;
    int64_t requested_bytes = 0;
    int64_t count = 0;
};

struct StepSample {
    uint64_t tick = 0;
    uint64_t next_ordinal = 0;  // the recorder's ordinal
    uint64_t level_bytes = 0;   // of all GPUs
    uint64_t peak_bytes = 0;    // of all GPUs, since the previous sample
    size_t change_end = 0;      // end of its changes in StepHistory::changes
};

struct StepHistory {
    format::SampleSource source = format::SampleSource::kParts;
    uint64_t step_count = 0;  // completed steps, or parts
    uint64_t steps_per_sample = 1;
    bool may_go_on = false;  // an optimizer that runs or comes next belongs to the last step
    std::vector<StepSample> samples;
    std::vector<StepChange> changes;

    bool has_steps() const { return source != format::SampleSource::kParts; }
    bool has_marks() const { return source == format::SampleSource::kMarks; }
    uint64_t first_step_of(size_t sample) const { return sample * steps_per_sample; }
    uint64_t last_step_of(size_t sample) const { return (sample + 1) * steps_per_sample - 1; }
    // The step that made the block with this ordinal of the recorder; if several steps share a
    // sample, the last of them. nullopt: before the first sample, or there are no steps.
    std::optional<uint64_t> step_of(uint64_t ordinal) const;
};

class StepHistoryDecoder {
public:
    // False when the record is shorter than its fields.
    bool decode(format::SummaryType type, FieldCursor cursor, const Definitions& definitions);
    // nullopt: the trace has none, or its values are impossible.
    std::optional<StepHistory> take();

private:
    bool decode_change(FieldCursor cursor, const Definitions& definitions);
    bool is_sane() const;

    StepHistory history_;
    bool is_whole_ = false;
};

}  // namespace peakline::report
