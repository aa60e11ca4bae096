// An index of the shared libraries below some folders, by name. Made once: site-packages has many
// files.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace peakline::report {

class FileIndex {
public:
    // Unreadable folders count as empty.
    explicit FileIndex(const std::vector<std::string>& folders);

    // Returns files that may be a copy of the library with this path: debug files of its build,
    // then files of its name.
    std::vector<std::string> candidates(const std::string& path, std::string_view build_id) const;

private:
    std::vector<std::string> folders_;
    std::unordered_map<std::string, std::vector<std::string>> paths_by_name_;
};

}  // namespace peakline::report
