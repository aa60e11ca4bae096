// How paths are shown: short where the reader knows the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/attribute/names/label.h"

namespace peakline::report {

struct PathDisplay {
    bool full_paths = false;
    std::string working_directory;  // of the reader; empty: unknown
};

// Below a site-packages directory from after it, below the working directory relative to it,
// otherwise as it is.
std::string display_path(const PathDisplay& display, const std::string& path);

// The text of a row: "train.py:12 (step)", stacks with " <- " between frames, a native
// function as "at::_ops::addmm::call (libtorch_cpu.so)", or its name.
std::string label_text(const PathDisplay& display, const Label& label);

// The same of a row with several labels: "h.0.mlp | held to backward".
std::string label_text(const PathDisplay& display, const std::vector<Label>& labels);

}  // namespace peakline::report
