// --by function: the function of the chosen frame, for all its lines. Methods of the same name in
// different classes are different functions.
#include "report/attribute/grouping.h"

namespace peakline::report {

BlockRow row_by_function(StackLookup& stacks, const BlockGroup& block) {
    BlockRow row = row_by_line(stacks, block);
    for (Location& location : row.label.frames) {
        location.line = 0;
        location.function = location.is_native ? location.function : location.qualified_name;
        row.label.key = row.label.prefix + location_key(location);
    }
    return row;
}

}  // namespace peakline::report
