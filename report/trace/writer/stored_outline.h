// The outline of a run, stored in its trace, so that `peakline ranks` compares a thousand ranks
// without their events. The recorder cannot know the outline; the first reader of the events after
// the end stores it.
#pragma once

#include <optional>
#include <string>

#include "report/trace/reader.h"

namespace peakline::report {

// Adds `json`, the result of `Trace.outline()`, to a closed trace that has every event: see
// add_record(). False also when it has one already. Throws TraceError when the trace cannot be read
// or written.
bool store_outline(const std::string& path, const std::string& json);

// Returns the stored outline; nullopt when there is none or a peakline with another version stored
// it.
std::optional<std::string> stored_outline(const TraceReader& reader);

}  // namespace peakline::report
