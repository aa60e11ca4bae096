// Writes a trace in its packed form, see packed_file.h.
#pragma once

#include <functional>
#include <string>

#include "report/trace/events/event_stream.h"

namespace peakline::report {

struct PackedSizes {
    uint64_t raw_bytes = 0;
    uint64_t packed_bytes = 0;
};

// Packs the trace at `path`, as a file or packed already, into a new file `packed_path`. `level`:
// of zstd, 1 to 19. Chunks that were never used at its end are left out. Throws TraceError when
// there is no trace at `path` or the file cannot be written (then nothing is left of it), and
// passes on what `progress` throws.
PackedSizes pack_trace(const std::string& path,
                       const std::string& packed_path,
                       int level,
                       const Progress& progress);

}  // namespace peakline::report
