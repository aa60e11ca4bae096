// The section about values that a simulated device does not have, in its two forms.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/views/blocks/value_reads.h"

namespace peakline::report {

// Empty when nothing was read. What memory may depend on has a row each, the rest one line.
std::string value_reads_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths);
// The line of a report's header when a size was read as 0; else empty.
std::string too_low_text(const std::vector<ValueReadRow>& reads);
// The array of field `value_reads`; JSON.md describes it.
void put_value_reads(JsonWriter& json,
                     const std::vector<ValueReadRow>& reads,
                     const PathDisplay& paths);

}  // namespace peakline::report
