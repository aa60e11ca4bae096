// Shape and dtype of a tensor, read from its TensorImpl. Runs no code of the program and holds no
// reference.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in the fields of `part` for tensor types.
void offer_tensor_types(Part* part);

}  // namespace peakline::torch_part
