// The section about values that a simulated device does not have, in its two forms.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/blocks/value_reads.h"

namespace peakline::report {

// Empty when nothing was read. What memory may depend on has a row each, the rest one line.
std::string value_reads_text(const std::vector<ValueReadRow>& reads, const PathDisplay& paths);
// The sentence of every report, in both forms, when `count` sizes were read as 0; else empty.
std::string too_low_sentence(uint64_t count);
// How many sizes of this trace were, for reports that do not list them.
uint64_t zero_size_count(const TraceReader& reader);
// Fields `sizes_read_as_zero` and `too_low` of an open object.
void put_too_low(JsonWriter& json, const TraceReader& reader);
// The array of field `value_reads`; JSON.md describes it.
void put_value_reads(JsonWriter& json,
                     const std::vector<ValueReadRow>& reads,
                     const PathDisplay& paths);

}  // namespace peakline::report
