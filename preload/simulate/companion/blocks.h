// Reports blocks of torch's caching allocator. Only torch knows where blocks begin and end: known
// contents end with their block, and a kernel's pointer means one block.
#pragma once

namespace peakline::simulated {

// Call after every operator: the allocator accepts a watcher only once it is initialised.
void watch_blocks_once();

}  // namespace peakline::simulated
