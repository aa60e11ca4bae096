#include "path_display.h"

#include <algorithm>

#include "report/attribute/frame_policy.h"

namespace peakline::report {

std::string display_path(const PathDisplay& display, const std::string& path) {
    if (display.full_paths) {
        return path;
    }
    if (std::string in_packages = path_in_packages(path); !in_packages.empty()) {
        return in_packages;
    }
    const std::string& here = display.working_directory;
    const bool below = here.size() > 1 && path.size() > here.size() + 1 &&
                       path.compare(0, here.size(), here) == 0 && path[here.size()] == '/';
    return below ? path.substr(here.size() + 1) : path;
}

std::string label_text(const PathDisplay& display, const Label& label) {
    std::string text = label.name;
    for (const Location& location : label.frames) {
        text += text.empty() ? label.prefix : " <- ";
        text += display_path(display, location.file);
        if (location.line != 0) {
            text += ":" + std::to_string(location.line);
        }
        if (!location.function.empty()) {
            text += " (" + location.function + ")";
        }
    }
    return text;
}

namespace {

// Less than this says nothing: such a row is longer than the terminal.
constexpr size_t kLeastRoom = 20;
constexpr char kViaMark[] = "  via ";

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// The offset of the character with this index, or the length of the text.
size_t offset_of_character(const std::string& text, size_t index) {
    for (size_t offset = 0; offset < text.size(); ++offset) {
        if (begins_character(text[offset]) && index-- == 0) {
            return offset;
        }
    }
    return text.size();
}

}  // namespace

size_t column_count(const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shortened(const std::string& text, size_t room) {
    static constexpr std::string_view kGap = "...";
    const size_t columns = column_count(text);
    if (columns <= room || room <= kGap.size()) {
        return text;
    }
    // More of the end than of the beginning: it has the file, the line and the function.
    const size_t kept = room - kGap.size();
    const size_t first = kept / 3;
    return text.substr(0, offset_of_character(text, first)).append(kGap) +
           text.substr(offset_of_character(text, columns - (kept - first)));
}

std::string row_in_width(const PathDisplay& display, std::string start, const std::string& text) {
    if (display.width == 0) {
        return start + text;
    }
    const size_t used = column_count(start);
    const size_t left = display.width > used ? display.width - used : 0;
    const size_t room = std::max(left, kLeastRoom);
    // Where both have no room, the line matters more than what asked below it.
    const size_t via = column_count(text) > room ? text.find(kViaMark) : std::string::npos;
    return start + shortened(text.substr(0, via), room);
}

std::string via_text(const std::vector<ViaPart>& via) {
    if (via.empty() || via.front().name.empty()) {
        return {};
    }
    const size_t more = via.size() - 1;
    return kViaMark + via.front().name + (more == 0 ? "" : ", +" + std::to_string(more) + " more");
}

std::string printable(std::string_view text) {
    std::string safe(text);
    for (char& character : safe) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte < 0x20 || byte == 0x7F) {
            character = '?';
        }
    }
    return safe;
}

}  // namespace peakline::report
