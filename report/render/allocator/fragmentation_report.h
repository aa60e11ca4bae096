// `fragmentation` and `map`: the causes of torch's reserved memory at a moment, the lines that pin
// segments, and a map of the segments.
#pragma once

#include <string>
#include <vector>

#include "report/attribute/names/label.h"
#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/segments/allocator_state.h"

namespace peakline::report {

// The lines of all contexts that have a block. Number 0 is for contexts without one.
struct StateLines {
    std::vector<Label> labels;  // by number
    std::vector<uint32_t> of_context;

    uint32_t number_of(uint32_t context) const {
        return context < of_context.size() ? of_context[context] : 0;
    }
};

struct StateReport {
    const TraceReader& reader;
    const AllocatorState& state;
    const ReservedCauses& causes;
    const SegmentPins& pins;
    const std::string& at;  // the moment, as --at takes it
    const StateLines& lines;
    uint64_t top = 0;  // lines or segments shown; 0: all
    const PathDisplay& paths;
};

void put_fragmentation(Document& document, const StateReport& report);
void put_map(Document& document, const StateReport& report);

}  // namespace peakline::report
