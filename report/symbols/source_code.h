// Lines of Python files as they were when the program ran: those stored in the trace, else those of
// files that are unchanged since then.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "report/trace/writer/stored_sources.h"

namespace peakline::report {

inline constexpr uint32_t kSourceReach = 3;  // lines that are shown before and behind one

class SourceCode {
public:
    // `reader` must outlive this.
    explicit SourceCode(const TraceReader& reader) : reader_(reader) {}

    // A line without the spaces around it; empty when it is unknown. Valid as long as this.
    std::string_view line(const std::string& path, uint32_t number) const;
    // The same line with its neighbours; empty when it is unknown. `first`: the number of the
    // first.
    std::vector<std::string_view> lines_around(const std::string& path,
                                               uint32_t number,
                                               uint32_t* first) const;
    // Whether the file has been changed since the program began, and the trace has no line of it.
    bool is_changed(const std::string& path) const;

private:
    const StoredFile& file(const std::string& path) const;

    const TraceReader& reader_;
    mutable std::mutex mutex_;
    mutable bool has_stored_ = false;
    mutable StoredFiles files_;  // the stored ones, and those read since
};

// The lines of a Python file, each cut to 200 bytes. None when it is gone, no file of Python, or
// was changed since this time.
StoredFile read_source(const std::string& path, uint64_t start_realtime_ns);

}  // namespace peakline::report
