// --by function: the function of the chosen frame, for all its lines. Methods of the same name in
// different classes are different functions.
#include "report/attribute/grouping.h"

namespace peakline::report {

Placement place_by_function(StackLookup& stacks, const BlockGroup& block) {
    Placement placement = place_by_line(stacks, block);
    for (Location& location : placement.label.frames) {
        location.line = 0;
        location.function = location.is_native ? location.function : location.qualified_name;
        placement.label.key = location_key(location);
    }
    return placement;
}

}  // namespace peakline::report
