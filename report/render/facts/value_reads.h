// The section about values that a simulated device does not have, for people and for programs.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/blocks/value_reads.h"

namespace peakline::report {

// Empty when nothing was read. Reads that may change memory have a row each; the others share a
// line.
std::string value_reads_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths);
// The warning in every report, in both forms, when `count` sizes were read as 0; empty for 0.
std::string too_low_sentence(uint64_t count);
// The number of sizes read as 0 in this trace, for reports that do not list them.
uint64_t zero_size_count(const TraceReader& reader);
// Fields `sizes_read_as_zero` and `too_low` of an open object.
void put_too_low(JsonWriter& json, const TraceReader& reader);
// The array of field `value_reads`; JSON.md describes it.
void put_value_reads(JsonWriter& json,
                     const std::vector<ValueReadRow>& reads,
                     const PathDisplay& paths);

}  // namespace peakline::report
