// Puts the lines of the program's files into its trace.
#include <algorithm>
#include <set>

#include "report.h"
#include "report/attribute/stacks/frame_policy.h"
#include "report/symbols/source_code.h"

namespace peakline::report {
namespace {

using Numbers = std::set<uint32_t>;
using WantedLines = std::map<std::string, Numbers>;  // by path

WantedLines lines_of_frames(const Definitions& definitions) {
    WantedLines wanted;
    for (const PythonFrame& frame : definitions.python_frames.items()) {
        if (frame.line != 0) {
            wanted[definitions.strings[frame.file]].insert(frame.line);
        }
    }
    return wanted;
}

// Only these lines, and those around them.
StoredFile part_of(const StoredFile& file, const Numbers& numbers, uint32_t reach) {
    StoredFile part;
    part.is_changed = file.is_changed;
    for (const uint32_t number : numbers) {
        const uint32_t first = number > reach ? number - reach : 1;
        const auto end = file.lines.upper_bound(number + std::min(reach, UINT32_MAX - number));
        for (auto line = file.lines.lower_bound(first); line != end; ++line) {
            part.lines.insert(*line);
        }
    }
    return part;
}

struct Amount {
    uint32_t reach = 0;  // lines around those of the program itself
    bool has_libraries = false;
};
// The largest that a chunk has room for is stored.
constexpr Amount kAmounts[] = {{kSourceReach, true}, {0, true}, {0, false}};

}  // namespace

bool store_sources(const std::string& path) {
    const TraceReader reader = TraceReader::open_file(path);
    const WantedLines wanted = lines_of_frames(reader.definitions());
    if (wanted.empty() || !reader.summary().sources.empty()) {
        return false;
    }
    StoredFiles whole;
    for (const auto& [file, numbers] : wanted) {
        StoredFile read = read_source(file, reader.superblock().start_realtime_ns);
        if (read.is_changed || !read.lines.empty()) {
            whole[file] = std::move(read);
        }
    }
    return std::ranges::any_of(kAmounts, [&](const Amount& amount) {
        StoredFiles files;
        for (const auto& [file, lines] : whole) {
            const bool is_own = is_users_file(file);
            if (is_own || amount.has_libraries) {
                files[file] = part_of(lines, wanted.at(file), is_own ? amount.reach : 0);
            }
        }
        return add_sources(reader, path, files);
    });
}

}  // namespace peakline::report
