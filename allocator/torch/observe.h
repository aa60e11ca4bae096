// Reports of torch's autograd and record_function: named scopes, and facts of nodes.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in the fields for autograd nodes and record_function regions: torch opens a region around
// every step of an optimizer, zero_grad, and every batch of a loader. `host` must outlive the part.
//
// Note [Scopes without an observer]
// With any observer attached (at::addGlobalCallback), whatever it observes, torch does more for
// every operator and rebuilds its lists of observers twice for every autograd node: a tenth of a
// training step's host time. A record_function region gets its observers from
// at::getStepCallbacks, operators from another function: so we add ourselves only to the result of
// the first.
void offer_observers(const Host& host, Part* part);

}  // namespace peakline::torch_part
