// What tensors and autograd's nodes hold, for the search of what keeps blocks alive: storages,
// gradients, graphs, and the tensors that nodes saved for their backward. Creates no object of
// Python and holds no reference.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in what `part` offers for it.
void offer_held_graphs(Part* part);

}  // namespace peakline::torch_part
