// What a trace says about its run, for the reports that begin with it.
#pragma once

#include <string>

#include "report/render/format/json_writer.h"
#include "report/trace/reader.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

// Fields of an open object: file, process, times, and every meta key the recorder wrote.
void put_run_facts(JsonWriter& json, const TraceReader& reader);

// Field `simulated` of an open object, the simulated device or null, and those of put_too_low().
void put_simulated(JsonWriter& json, const TraceReader& reader);

// How the run was recorded: the device is simulated, some blocks have no lines.
std::string run_head_text(const TraceReader& reader);
// The lines that every report begins with: the same, and that sizes were read as 0.
std::string head_text(const TraceReader& reader);

// Which stacks a report of this selection lacks because `run --stacks` did not ask for them, and
// how to record them. Empty: none.
std::string stacks_text(const TraceReader& reader, const Selection& selection);

// Field `lines_missing` of an open object, see format::kLinesMissing: null, or what was allocated
// before Python stacks could be read.
void put_lines_missing(JsonWriter& json, const TraceReader& reader);

// The start in UTC, "2030-01-31 12:34:56"; empty when the trace does not know it.
std::string start_text(const TraceReader& reader);

// Throws TraceError when the trace holds a summary only, which `command` cannot be made of.
void need_events(const TraceReader& reader, const char* command);
// The same, and when all of it is the state of one moment: a snapshot without actions.
void need_time(const TraceReader& reader, const char* command);

}  // namespace peakline::report
