// The peak of a program at sizes that it never ran, from recordings of two or more sizes. Pure
// aggregation.
//
// Note [Sizes of a run]
// The recordings make the same allocations in the same order, of other sizes. The recording of the
// largest size is the base: its allocations and frees are followed once more, with the bytes that
// each block would have (Note [Growth of a block]). So the peak may move to another line. Blocks
// that one recording alone has come from kernels that change with the size: they have wide bounds.
// If the bounds of the peak are far apart, there is no prediction, but the reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "block_growth.h"
#include "generation_parts.h"
#include "report/attribute/names/label.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"
#include "sizes_text.h"

namespace peakline::report {

struct RecordedSize {
    StepSize size;
    std::string name;
    uint64_t peak_bytes = 0;   // requested
    int64_t model_bytes = 0;   // of the same model at this size
    uint64_t block_count = 0;  // allocations
    uint64_t only_here = 0;    // of them, those that the base lacks
};

struct SizedRow {
    Label line;
    Growth growth = Growth::kConstant;
    Growth other = Growth::kConstant;  // see BlockGrowth
    uint64_t count = 0;
    GrownBytes bytes;
};

// The same step in equal parts, with the gradients of all parts added up (accumulation).
struct SizeInParts {
    uint64_t parts = 0;
    uint64_t batch = 0;       // of one part
    int64_t block_bytes = 0;  // at most: its gradients are live from the second part on
};

struct SizedPeak {
    StepSize size;
    RunPart part = RunPart::kWhole;
    uint64_t new_tokens = 0;  // with a part: of each sequence
    int64_t token_bytes = 0;  // while decoding: by which one more token of a sequence lifts it
    GrownBytes peak;          // requested
    int64_t block_bytes = 0;  // about: the same in blocks of the allocator
    Label line;               // of the allocation that reaches it
    std::vector<SizedRow> rows = {};  // held then, by line and growth; the largest first
    std::string refusal = {};         // why the bounds are far apart; empty: they are not
    // With a budget: the largest batch of this length that fits, 0: none; and the fewest parts.
    std::optional<uint64_t> largest_batch = {};
    std::optional<SizeInParts> in_parts = {};

    // The blocks with the upper bounds of their sizes.
    int64_t most_block_bytes() const { return block_bytes + peak.high - peak.bytes; }
};

struct SizePrediction {
    TraceHealth health;
    uint32_t device = 0;
    std::string refusal;  // of all sizes; empty: none
    std::vector<RecordedSize> recorded;
    size_t base = 0;               // in `recorded`
    uint64_t checked_count = 0;    // blocks of the base with one coefficient, which all agree with
    uint64_t changed_count = 0;    // blocks that another recording lacks
    std::vector<SizedPeak> peaks;  // by size of SizesText::at; prefill and decoding apart
};

// `budget_bytes`: for blocks of the allocator; 0: none.
SizePrediction predict_sizes(const TraceReader& reader,
                             const Selection& selection,
                             const SizesText& text,
                             uint64_t budget_bytes,
                             const Progress& progress);

}  // namespace peakline::report
