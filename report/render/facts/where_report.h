// The part of a report that --where selects, in both forms. Without --where the text is empty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/render/format/json_writer.h"
#include "report/render/format/path_display.h"
#include "report/views/selection/block_filter.h"
#include "report/views/selection/selection.h"

namespace peakline::report {

struct ShownPart {
    uint64_t shown_bytes = 0;  // sum of the rows
    uint64_t total_bytes = 0;  // of all blocks
    std::vector<UnmatchedValue> unmatched;
};

// "Shown: where category=activation, 3.1 GB of 4.5 GB", and values that no block has.
std::string where_text(const Selection& selection, const ShownPart& part);
// Parts of it: "category=activation", and the lines about values that no block has.
std::string condition_text(const Selection& selection);
std::string unmatched_where_text(const ShownPart& part);
// Fields of an open object: where, where_bytes, where_unmatched.
void put_where(JsonWriter& json, const Selection& selection, const ShownPart& part);

// The texts of a row: as the report shows it, and with full paths.
TextsOfLabel texts_of_labels(const PathDisplay& paths);

}  // namespace peakline::report
