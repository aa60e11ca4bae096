#include "source_code.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <sys/stat.h>

namespace peakline::report {
namespace {

constexpr size_t kLongestLine = 200;  // bytes
constexpr off_t kLargestFile = off_t{16} << 20;
constexpr std::string_view kBlanks = " \f";

enum class FileState { kMissing, kChanged, kReadable };

FileState state_of(const std::string& path, uint64_t start_realtime_ns) {
    struct stat facts {};
    if (!path.ends_with(".py") || stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size > kLargestFile) {
        return FileState::kMissing;
    }
    const auto changed_ns = static_cast<uint64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 +
                            static_cast<uint64_t>(facts.st_mtim.tv_nsec);
    return changed_ns > start_realtime_ns ? FileState::kChanged : FileState::kReadable;
}

// With spaces for tabs, cut at a whole character of UTF-8.
std::string tidied(const std::string& text) {
    std::string line;
    for (const char one : text) {
        line += one == '\t' ? "    " : std::string(one != '\r', one);
    }
    if (line.size() > kLongestLine) {
        size_t end = kLongestLine;
        while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) {
            --end;
        }
        line.resize(end);
    }
    return line;
}

std::string_view without_blanks(std::string_view line) {
    const size_t begin = line.find_first_not_of(kBlanks);
    const size_t end = line.find_last_not_of(kBlanks);
    return begin == std::string_view::npos ? "" : line.substr(begin, end - begin + 1);
}

}  // namespace

StoredFile read_source(const std::string& path, uint64_t start_realtime_ns) {
    StoredFile file;
    const FileState state = state_of(path, start_realtime_ns);
    file.is_changed = state == FileState::kChanged;
    if (state != FileState::kReadable) {
        return file;
    }
    std::ifstream stream(path);
    std::string line;
    for (uint32_t number = 1; std::getline(stream, line); ++number) {
        file.lines[number] = tidied(line);
    }
    return file;
}

std::string_view SourceCode::line(const std::string& path, uint32_t number) const {
    const StoredFile& known = file(path);
    const auto found = known.lines.find(number);
    return found == known.lines.end() ? std::string_view() : without_blanks(found->second);
}

std::vector<std::string_view> SourceCode::lines_around(const std::string& path,
                                                       uint32_t number,
                                                       uint32_t* first) const {
    const std::map<uint32_t, std::string>& lines = file(path).lines;
    const auto middle = lines.find(number);
    if (middle == lines.end()) {
        return {};
    }
    auto begin = middle;
    while (begin != lines.begin() && std::prev(begin)->first + 1 == begin->first &&
           number - std::prev(begin)->first <= kSourceReach) {
        --begin;
    }
    *first = begin->first;
    std::vector<std::string_view> around;
    for (auto at = begin; at != lines.end(); ++at) {
        if (at->first != *first + around.size() || at->first > uint64_t{number} + kSourceReach) {
            break;
        }
        around.push_back(at->second);
    }
    return around;
}

bool SourceCode::is_changed(const std::string& path) const {
    return file(path).is_changed;
}

const StoredFile& SourceCode::file(const std::string& path) const {
    const std::lock_guard guard(mutex_);
    if (!has_stored_) {
        files_ = stored_sources(reader_);
        has_stored_ = true;
    }
    const auto [known, is_new] = files_.try_emplace(path);
    if (is_new) {
        known->second = read_source(path, reader_.superblock().start_realtime_ns);
    }
    return known->second;
}

}  // namespace peakline::report
