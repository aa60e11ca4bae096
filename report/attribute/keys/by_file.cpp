// --by file: the file of the chosen frame.
#include "report/attribute/grouping.h"

namespace peakline::report {

BlockRow row_by_file(StackLookup& stacks, const BlockGroup& block) {
    BlockRow row = row_by_line(stacks, block);
    row.via.clear();
    for (Location& location : row.label.frames) {
        location = Location{location.file, 0, {}, {}, location.is_native};
        row.label.key = row.label.prefix + location_key(location);
    }
    return row;
}

}  // namespace peakline::report
