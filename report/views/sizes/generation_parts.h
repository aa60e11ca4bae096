// The two parts of a recorded generate(): the prefill reads the prompt, and decoding makes one
// token after the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "report/attribute/stacks/stack_lookup.h"
#include "report/replay/values/phase.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

enum class RunPart : unsigned char { kWhole, kPrefill, kDecode };

struct GenerationParts {
    uint64_t new_tokens = 0;           // of each sequence; 0: no generate() was recorded
    std::vector<EventRange> decoding;  // in order

    // Everything outside of decoding belongs to the prefill: the model is loaded there, too.
    bool has(RunPart part, uint64_t event) const {
        if (part == RunPart::kWhole) {
            return true;
        }
        const auto after = std::upper_bound(
            decoding.begin(), decoding.end(), event, [](uint64_t at, const EventRange& range) {
                return at < range.begin;
            });
        const bool is_decoding = after != decoding.begin() && event < std::prev(after)->end;
        return is_decoding == (part == RunPart::kDecode);
    }
};

GenerationParts generation_of(const TraceReader& reader,
                              const Selection& selection,
                              StackLookup& stacks,
                              const Progress& progress);

}  // namespace peakline::report
