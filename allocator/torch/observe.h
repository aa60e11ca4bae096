// Reports of torch's autograd and record_function: named scopes, and facts of nodes.
#pragma once

#include "torch_part.h"

namespace peakline::torch_part {

// Fills in what the part knows of autograd nodes and record_function regions: torch opens one
// around every step of an optimizer, zero_grad, and every batch of a loader. `host` must stay.
//
// Note [Scopes without an observer]
// Where any observer is attached (at::addGlobalCallback), whatever it observes, torch does more for
// every operator and rebuilds its lists of observers twice for every autograd node: a tenth of a
// training step's host time. A record_function region asks at::getStepCallbacks who wants to know,
// operators ask another function: so that answer is the one we add ourselves to.
void offer_observers(const Host& host, Part* part);

}  // namespace peakline::torch_part
