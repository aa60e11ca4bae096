// --by device: the device of the block; useful with --device all.
#include "report/attribute/grouping.h"
#include "report/replay/values/device_names.h"

namespace peakline::report {

BlockRow row_by_device(StackLookup&, const BlockGroup& block) {
    return named_row(device_name(block.device));
}

}  // namespace peakline::report
