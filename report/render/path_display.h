// How paths and rows are shown: short where the reader knows the rest.
#pragma once

#include <string>
#include <string_view>

#include "report/attribute/label.h"

namespace peakline::report {

struct PathDisplay {
    bool full_paths = false;
    std::string working_directory;  // of the reader; empty: unknown
};

// Below a site-packages directory from after it, below the working directory relative to it,
// otherwise as it is.
std::string display_path(const PathDisplay& display, const std::string& path);

// The text of a row: "train.py:12 (step)", stacks with " <- " between frames, or its name.
std::string label_text(const PathDisplay& display, const Label& label);

// Without control characters: a file name must not be able to break a line or drive a terminal.
std::string printable(std::string_view text);

}  // namespace peakline::report
