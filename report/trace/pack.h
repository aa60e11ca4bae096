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

// Packs the trace at `path`, packed already or not, into a new file `packed_path`. `level`: of
// zstd, 1 to 19. Unused chunks at the end are left out. Throws TraceError when there is no trace at
// `path` or the file cannot be written (then the new file is removed), and passes on the exceptions
// of `progress`.
PackedSizes pack_trace(const std::string& path,
                       const std::string& packed_path,
                       int level,
                       const Progress& progress);

}  // namespace peakline::report
