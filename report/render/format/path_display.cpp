#include "path_display.h"

#include "report/attribute/stacks/frame_policy.h"
#include "report/symbols/frame_names.h"
#include "report/symbols/source_code.h"

namespace peakline::report {

std::string code_at(const PathDisplay& display, const Location& location) {
    const bool is_line = display.code != nullptr && !location.is_native && location.line != 0;
    return is_line ? std::string(display.code->line(location.file, location.line)) : std::string();
}

bool is_changed_since(const PathDisplay& display, const Location& location) {
    return display.code != nullptr && !location.is_native && location.line != 0 &&
           display.code->is_changed(location.file);
}

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
    // The substitute for a missing symbol already contains the name of its library.
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

std::string label_text(const PathDisplay& display, const std::vector<Label>& labels) {
    std::string all;
    for (const Label& label : labels) {
        all += (&label == &labels.front() ? "" : " | ") + label_text(display, label);
    }
    return all;
}

}  // namespace peakline::report
