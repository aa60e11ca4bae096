// What torch's autograd and record_function tell through their own observers, and facts of nodes.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// record_function regions: torch opens one around every step of an optimizer, zero_grad, and every
// batch of a loader. `host` must stay.
void observe_scopes(const Host& host);

// Fills in what the part knows of autograd nodes.
void offer_nodes(Part* part);

}  // namespace peakline::torch_part
