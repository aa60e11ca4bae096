// A line of Python with a few lines around it, for programs that show them.
#pragma once

#include "json_writer.h"
#include "path_display.h"

namespace peakline::report {

// Writes a value: {"first": number of the first line, "lines": [...], "is_changed": true if the
// file was changed since the program began}. Null when nothing is known of the line.
void put_source(JsonWriter& json, const PathDisplay& paths, const Location& location);

}  // namespace peakline::report
