// Checks the ids in rare records: threads, streams, contexts, texts, devices. Done once, where
// events are decoded, so that followers never see an undefined id.
#pragma once

#include "definitions.h"
#include "report/trace/file/rare_event.h"

namespace peakline::report {

enum class EventIds {
    kKnown,
    kUnknown,     // replaced by the lost definition of its kind
    kImpossible,  // no such device can exist: the record is skipped
};

EventIds check_ids(RareEvent* event, const Definitions& definitions);

}  // namespace peakline::report
