// The addresses of the gradients of parameters, for the report after an optimizer's step. Holds no
// reference to a tensor, not even a weak one: torch.utils.swap_tensors() counts them.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in the fields of `part` for gradients.
void offer_gradients(Part* part);

}  // namespace peakline::torch_part
