// `advise` in its two forms. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/render/format/json_writer.h"
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

// An array, as the value of an open key. `top`: so many of them; 0: all.
void put_pieces_of_advice(JsonWriter& json,
                          const PathDisplay& paths,
                          const std::vector<Advice>& advice,
                          uint64_t top);

// Each with its figure, line, evidence and change; an empty line before each.
std::string pieces_of_advice_text(const PathDisplay& paths, const std::vector<Advice>& advice);

std::string advise_text(const AdviseReport& report);
std::string advise_json(const AdviseReport& report);

}  // namespace peakline::report
