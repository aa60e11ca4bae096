// The shared libraries below some folders, by name. Made once: site-packages has many files.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace peakline::report {

class FileIndex {
public:
    // Folders that cannot be read have no files.
    explicit FileIndex(const std::vector<std::string>& folders);

    // Files that may be the library with this path elsewhere: debug files of its build, then files
    // of its name.
    std::vector<std::string> candidates(const std::string& path, std::string_view build_id) const;

private:
    std::vector<std::string> folders_;
    std::unordered_map<std::string, std::vector<std::string>> paths_by_name_;
};

}  // namespace peakline::report
