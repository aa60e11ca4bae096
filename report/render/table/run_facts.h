// Facts of a run, for the head of reports.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

class Document;

// Fields of an open object: file, process, times, and every meta key the recorder wrote.
void put_run_facts(JsonWriter& json, const TraceReader& reader);

// The field `simulated` of an open object (the simulated device or null), and those of
// put_too_low().
void put_simulated(JsonWriter& json, const TraceReader& reader);
// The same for programs only: it may read all events.
void put_simulated(Document& document, const TraceReader& reader);

// Lines about the recording: the device is simulated, some blocks have no lines of code.
std::string run_head_text(const TraceReader& reader);
// The first lines of every report: the same, and the warning about sizes read as 0.
std::string head_text(const TraceReader& reader);

// Names the stacks that this selection needs and `run --stacks` did not record, and how to record
// them. Empty: none.
std::string stacks_text(const TraceReader& reader, const Selection& selection);

// The field `lines_missing` of an open object, see format::kLinesMissing: null, or the memory
// allocated before Python stacks could be read.
void put_lines_missing(JsonWriter& json, const TraceReader& reader);

// The start in UTC, "2030-01-31 12:34:56"; empty: unknown to the trace.
std::string start_text(const TraceReader& reader);

}  // namespace peakline::report
