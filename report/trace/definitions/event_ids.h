// What rare records name: threads, streams, contexts, texts, devices. Checked once, where events
// come in, so that no follower meets an id that nothing defines.
#pragma once

#include "definitions.h"
#include "report/trace/file/rare_event.h"

namespace peakline::report {

enum class EventIds {
    kKnown,
    kUnknown,     // replaced by what stands for the lost one
    kImpossible,  // the device cannot be: the record means nothing
};

EventIds check_ids(RareEvent* event, const Definitions& definitions);

}  // namespace peakline::report
