// --by file: the file of the chosen frame.
#include "report/attribute/grouping.h"

namespace peakline::report {

Placement place_by_file(StackLookup& stacks, const BlockGroup& block) {
    Placement placement = place_by_line(stacks, block);
    placement.via.clear();
    for (Location& location : placement.label.frames) {
        location = Location{location.file, 0, {}, {}, location.is_native};
        placement.label.key = location_key(location);
    }
    return placement;
}

}  // namespace peakline::report
