// `holders`: the variables and objects that keep blocks alive, and parts for other reports. JSON
// schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/document/document.h"
#include "report/render/format/path_display.h"
#include "report/trace/reader.h"
#include "report/views/blocks/holders.h"

namespace peakline::report {

struct HoldersReport {
    const TraceReader& reader;
    const HolderList& list;
    uint64_t top = 0;  // rows shown; 0: all
    PathDisplay paths;
};

void put_holders(Document& document, const HoldersReport& report);

// The first `shown` rows of the list, and the sentences about its search, each with a line end.
void put_holder_rows(Document& document,
                     const char* key,
                     const HoldersReport& report,
                     uint64_t shown);
std::string holder_search_text(const HoldersReport& report);

}  // namespace peakline::report
