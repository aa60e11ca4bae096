#include "path_display.h"

namespace peakline::report {

std::string display_path(const PathDisplay& display, const std::string& path) {
    if (display.full_paths) {
        return path;
    }
    for (const std::string_view directory : {"/site-packages/", "/dist-packages/"}) {
        const size_t found = path.rfind(directory);
        if (found != std::string::npos) {
            return path.substr(found + directory.size());
        }
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
