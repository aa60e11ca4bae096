// Shows paths, shortened where the reader knows the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/attribute/names/label.h"

namespace peakline::report {

class SourceCode;

struct PathDisplay {
    bool full_paths = false;
    std::string working_directory;     // of the reader; empty: unknown
    const SourceCode* code = nullptr;  // of the trace; nullptr: no code is shown
};

// The code of a line; empty: unknown, or no line of Python.
std::string code_at(const PathDisplay& display, const Location& location);
// Whether that is unknown because the file was changed since the program began.
bool is_changed_since(const PathDisplay& display, const Location& location);

// Shortens a path below a site-packages directory to the part after it, and one below the working
// directory to the relative path. Other paths stay unchanged.
std::string display_path(const PathDisplay& display, const std::string& path);

// The text of a row: "train.py:12 (step)", stacks with " <- " between frames, a native
// function as "at::_ops::addmm::call (libtorch_cpu.so)", or its name.
std::string label_text(const PathDisplay& display, const Label& label);

// The same for a row with several labels: "h.0.mlp | held to backward".
std::string label_text(const PathDisplay& display, const std::vector<Label>& labels);

}  // namespace peakline::report
