#include "file_index.h"

#include <filesystem>
#include <system_error>

#include "frame_names.h"

namespace peakline::report {
namespace {

namespace fs = std::filesystem;

// Returns "ab/cdef.debug" for the bytes of a build id.
std::string debug_name(std::string_view build_id) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string name;
    for (const char byte : build_id) {
        const auto value = static_cast<unsigned char>(byte);
        name += {kDigits[value >> 4], kDigits[value & 15]};
        if (name.size() == 2) {
            name += '/';
        }
    }
    return name + ".debug";
}

}  // namespace

FileIndex::FileIndex(const std::vector<std::string>& folders) : folders_(folders) {
    for (const std::string& folder : folders) {
        std::error_code error;
        fs::recursive_directory_iterator at(
            folder, fs::directory_options::skip_permission_denied, error);
        for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
            const std::string path = at->path().string();
            const std::string name(file_name_of(path));
            if (name.find(".so") != std::string::npos) {
                paths_by_name_[name].push_back(path);
            }
        }
    }
}

std::vector<std::string> FileIndex::candidates(const std::string& path,
                                               std::string_view build_id) const {
    std::vector<std::string> found;
    for (const std::string& folder : folders_) {
        std::error_code error;
        const std::string file = folder + "/.build-id/" + debug_name(build_id);
        if (fs::exists(file, error)) {
            found.push_back(file);
        }
    }
    const auto named = paths_by_name_.find(std::string(file_name_of(path)));
    if (named != paths_by_name_.end()) {
        found.insert(found.end(), named->second.begin(), named->second.end());
    }
    return found;
}

}  // namespace peakline::report
