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

struct StateReport {
    const TraceReader& reader;
    const AllocatorState& state;
    const std::string& at;            // the moment, as --at takes it
    const std::vector<Label>& lines;  // by number
    // The number of the line, for each context.
    const std::vector<uint32_t>& line_of_context;
    uint64_t top = 0;  // lines or segments shown; 0: all
    const PathDisplay& paths;

    uint32_t line_of(uint32_t context) const {
        return context < line_of_context.size() ? line_of_context[context] : 0;
    }
};

void put_fragmentation(Document& document, const StateReport& report);
void put_map(Document& document, const StateReport& report);

}  // namespace peakline::report
