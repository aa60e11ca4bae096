// --by device: the device the block lies on; of use with --device all.
#include "report/attribute/grouping.h"

namespace peakline::report {

Placement place_by_device(StackLookup&, const BlockGroup& block) {
    return named_placement("device " + std::to_string(block.device));
}

}  // namespace peakline::report
