// The sentences of the page about one refused request. The page's summary and its tab OOM show
// them.
#pragma once

#include "report/render/format/json_writer.h"
#include "report/views/page/page.h"

namespace peakline::report {

// Writes the fields `room_bytes`, `room`, `change` and `unused` of an object: the memory that the
// request could use, the text after its size, the smallest change that serves the request, and the
// note about unused memory of torch; empty: there is nothing to say.
void put_refused_sentences(JsonWriter& json, const PageRefused& refused);

}  // namespace peakline::report
