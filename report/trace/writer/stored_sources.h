// Lines of the program's files, stored in its trace at the end of `peakline run`: later the files
// may be changed, or on another machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/trace/reader.h"

namespace peakline::report {

struct StoredFile {
    bool is_changed = false;  // changed while the program ran: it has no lines
    std::map<uint32_t, std::string> lines;
};
using StoredFiles = std::map<std::string, StoredFile>;  // by path

// Adds them to a closed trace: see add_record(). Content, for each file: uv bytes of the path
// | path | uv is_changed | uv lines | for each line: uv number, less that of the line before
// | uv bytes | text.
bool add_sources(const TraceReader& reader, const std::string& path, const StoredFiles& files);

// None when the trace has none, or damaged ones.
StoredFiles stored_sources(const TraceReader& reader);

}  // namespace peakline::report
