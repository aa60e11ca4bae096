// `holders` in its two forms, and its parts for other reports. JSON schema: JSON.md.
#pragma once

#include <cstdint>
#include <string>

#include "report/render/format/json_writer.h"
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

std::string holders_text(const HoldersReport& report);
std::string holders_json(const HoldersReport& report);

// The rows of a list, and what is to be said about its search; each line ends.
std::string holder_rows_text(const HoldersReport& report, const std::string& indent);
std::string holder_search_text(const HoldersReport& report);
// The field "holders" of an open object: an array, empty for a block without any.
void put_holders(JsonWriter& json, const HolderRow& row);

}  // namespace peakline::report
