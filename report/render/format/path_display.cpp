#include "path_display.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "printable.h"
#include "report/attribute/stacks/frame_policy.h"
#include "report/symbols/frame_names.h"

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

namespace {

std::string native_text(const PathDisplay& display, const Location& location) {
    const std::string library =
        std::string(display.full_paths ? location.file : file_name_of(location.file));
    // What stands for a function without a symbol names its library itself.
    return location.function.empty()      ? library
           : is_symbol(location.function) ? location.function + " (" + library + ")"
                                          : location.function;
}

std::string line_text(const PathDisplay& display, const Location& location) {
    std::string text = display_path(display, location.file);
    if (location.line != 0) {
        text += ":" + std::to_string(location.line);
    }
    return location.function.empty() ? text : text + " (" + location.function + ")";
}

}  // namespace

std::string label_text(const PathDisplay& display, const Label& label) {
    std::string text = label.name;
    for (const Location& location : label.frames) {
        text += text.empty() ? label.prefix : " <- ";
        text += location.is_native && location.line == 0 ? native_text(display, location)
                                                         : line_text(display, location);
    }
    return text;
}

namespace {

constexpr const char* kBetweenLabels = " | ";

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) {
        all += (&text == &texts.front() ? "" : kBetweenLabels) + text;
    }
    return all;
}

std::vector<std::string> texts_of(const PathDisplay& display, const std::vector<Label>& labels) {
    std::vector<std::string> texts;
    texts.reserve(labels.size());
    for (const Label& label : labels) {
        texts.push_back(label_text(display, label));
    }
    return texts;
}

// Less than this says nothing: such a row is longer than the terminal.
constexpr size_t kLeastRoom = 20;
// In less than this, what stands after a line is left out.
constexpr size_t kLeastRoomOfVia = 12;

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

size_t room_after(const PathDisplay& display, const std::string& start) {
    const size_t used = column_count(start);
    return std::max(display.width > used ? display.width - used : 0, kLeastRoom);
}

// ".../gpt2/model.py:3 (f)": with as many folders as fit, and the file in any case.
std::string without_folders(const std::string& line, size_t room) {
    std::string shown = line;
    for (size_t slash = line.find('/', 1); slash != std::string::npos && column_count(shown) > room;
         slash = line.find('/', slash + 1)) {
        shown = "..." + line.substr(slash);
    }
    return shown;
}

// Without folders, those of the first text first, until all of them fit.
std::string joined_without_folders(std::vector<std::string> texts, size_t room) {
    for (std::string& text : texts) {
        const size_t others = column_count(joined(texts)) - column_count(text);
        text = without_folders(text, room - std::min(room, others));
    }
    return joined(texts);
}

}  // namespace

std::string label_text(const PathDisplay& display, const std::vector<Label>& labels) {
    return joined(texts_of(display, labels));
}

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

std::string row_in_width(const PathDisplay& display,
                         const std::string& start,
                         const std::string& text) {
    if (display.width == 0) {
        return start + text;
    }
    return start + shortened(text, room_after(display, start));
}

std::string via_text(const std::vector<ViaPart>& via) {
    if (via.empty() || via.front().name.empty()) {
        return {};
    }
    const size_t more = via.size() - 1;
    return "  via " + via.front().name + (more == 0 ? "" : ", +" + std::to_string(more) + " more");
}

std::string row_with_via(const PathDisplay& display,
                         const std::string& start,
                         const std::vector<Label>& labels,
                         const std::vector<ViaPart>& via) {
    std::vector<std::string> texts = texts_of(display, labels);
    std::transform(texts.begin(), texts.end(), texts.begin(), printable);
    const std::string line = joined(texts);
    const std::string end = printable(via_text(via));
    const size_t room = display.width == 0 ? SIZE_MAX : room_after(display, start);
    if (end.empty() || column_count(line) + column_count(end) <= room) {
        return row_in_width(display, start, line + end);
    }
    const size_t wanted = room - std::min(room, column_count(end));
    const std::string fitting = shortened(joined_without_folders(std::move(texts), wanted), room);
    const size_t left = room - std::min(room, column_count(fitting));
    return start + fitting + (left < kLeastRoomOfVia ? std::string() : shortened(end, left));
}

}  // namespace peakline::report
