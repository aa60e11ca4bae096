// Copies a bounded trace that is being written, as of one moment, because its chunks are recycled
// while we read.
#pragma once

#include "byte_source.h"

namespace peakline::report {

// Note [Reading recycled chunks]
// First the headers are read until they are those of one moment; they show how much was final then.
// Then every byte is copied into a file without a name. Then the headers are read again. A chunk
// with a different header or first record was recycled meanwhile, and becomes blank in the copy.
// Data committed later is not part of the copy. The oldest checkpoint may be lost that way, and may
// be the only one of that moment: a caller who finds no checkpoint in the copy makes another copy.
//
// Returns `source` itself when it is not such a trace. Throws TraceError when there is no room for
// the copy.
ByteSource stable_copy(ByteSource source);

}  // namespace peakline::report
