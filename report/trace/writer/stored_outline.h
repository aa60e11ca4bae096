// The outline of a run, stored in its trace, so that `peakline ranks` compares a thousand ranks
// without their events. The recorder cannot know the outline; the first reader of the events after
// the end stores it.
#pragma once

#include <optional>
#include <string>

#include "report/trace/reader.h"

namespace peakline::report {

// Appends `json`, the result of `Trace.outline()`, to a closed trace that has every event. False
// when the trace takes none: it is packed, bounded or still written, has one already, or `json` is
// too large for a chunk. A concurrent reader sees the trace with it or without it. Throws
// TraceError when the trace cannot be read or written.
bool store_outline(const std::string& path, const std::string& json);

// Returns the stored outline; nullopt when there is none or a peakline with another version stored
// it.
std::optional<std::string> stored_outline(const TraceReader& reader);

}  // namespace peakline::report
