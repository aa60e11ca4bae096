// A bounded trace that is being written, as it was at one moment: its chunks are used again while
// we read.
#pragma once

#include "byte_source.h"

namespace peakline::report {

// Note [Reading what is used again]
// The headers are read until they are those of one moment, and say what was final then; then every
// byte is copied, into a file without a name; then headers are read again. A chunk whose header or
// first record is another one by then was used again meanwhile, and is blank in the copy. What was
// committed later is not part of it. The oldest checkpoint may be lost that way, and be the only
// one of that moment: who finds none in the copy makes another.
//
// Gives `source` itself back when it is no such trace. Throws TraceError when there is no room for
// the copy.
ByteSource stable_copy(ByteSource source);

}  // namespace peakline::report
