// Reads the references of tensors and autograd's nodes, for the search of holders: storages,
// gradients, graphs, and the tensors that nodes saved for their backward. Creates no Python
// object and holds no reference.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in the fields of `part` for this search.
void offer_held_graphs(Part* part);

}  // namespace peakline::torch_part
