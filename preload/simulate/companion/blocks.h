// The blocks of torch's caching allocator. What the simulated GPU knows of a block ends with it,
// and a kernel's pointer means one block: only torch knows where blocks begin and end.
#pragma once

namespace peakline::simulated {

// Called after every operator: the allocator takes a watcher only once it is initialised.
void watch_blocks_once();

}  // namespace peakline::simulated
