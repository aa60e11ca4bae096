// `advise`: changes that would lower the peak. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <vector>

#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/advice/advice.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct AdviseReport {
    const TraceReader& reader;
    const Selection& selection;
    const AdviceReport& found;
    uint64_t top = 0;  // pieces of advice shown; 0: all
    PathDisplay paths;
};

// Writes an array, as the value of an open key.
void put_pieces_of_advice(JsonWriter& json,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top);
// Writes the same as the field `key`. People see the figure, line, evidence and change of each
// piece. `top`: number of pieces; 0: all.
void put_pieces_of_advice(Document& document,
                          const char* key,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top);

void put_advise(Document& document, const AdviseReport& report);

}  // namespace peakline::report
