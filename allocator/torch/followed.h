// Parameters that are followed from one optimizer step to the next, to say where their gradients
// lie. Their memory and their objects stay the program's: only weak references are held.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in what `part` offers for it.
void offer_followed_tensors(Part* part);

}  // namespace peakline::torch_part
