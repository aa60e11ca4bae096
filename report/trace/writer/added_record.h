// A record added to a closed trace: what the recorder cannot know and the first reader after the
// end finds. Its body is a version and the content as a zstd frame.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "report/trace/reader.h"

namespace peakline::report {

// False when the trace takes none: it is packed, bounded or still written, or the packed content is
// too large for a chunk. A concurrent reader sees the trace with the record or without it. Throws
// TraceError when the trace cannot be written. `reader`: of the trace at `path`, as it is now.
bool add_record(const TraceReader& reader,
                const std::string& path,
                format::SummaryType type,
                uint64_t version,
                std::string_view content);

// The content of a record's body; nullopt when there is none, it is damaged, or a peakline with
// another version added it.
std::optional<std::string> content_of_record(std::span<const unsigned char> body, uint64_t version);

}  // namespace peakline::report
