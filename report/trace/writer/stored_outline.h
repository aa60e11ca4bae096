// A run in outline, kept in its trace: what `peakline ranks` compares a thousand ranks by without
// their events. The recorder cannot know it; whoever reads the events after the end puts it there.
#pragma once

#include <optional>
#include <string>

#include "report/trace/reader.h"

namespace peakline::report {

// Appends `json`, of `Trace.outline()`, to a trace that has every event and is closed. False where
// the trace takes none: it is packed, bounded or still written, has one already, or `json` is too
// large for a chunk. A reader at the same time sees the trace with it or without it. Throws
// TraceError when the trace cannot be read or written.
bool store_outline(const std::string& path, const std::string& json);

// What was stored; nothing where nothing was, or by a peakline whose outlines were others.
std::optional<std::string> stored_outline(const TraceReader& reader);

}  // namespace peakline::report
