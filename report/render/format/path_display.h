// How paths and rows are shown: short where the reader knows the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/attribute/names/label.h"

namespace peakline::report {

struct PathDisplay {
    bool full_paths = false;
    std::string working_directory;  // of the reader; empty: unknown
    size_t width = 0;               // columns of the terminal; 0: lines may have any length
};

// Below a site-packages directory from after it, below the working directory relative to it,
// otherwise as it is.
std::string display_path(const PathDisplay& display, const std::string& path);

// The text of a row: "train.py:12 (step)", stacks with " <- " between frames, a native
// function as "at::_ops::addmm::call (libtorch_cpu.so)", or its name.
std::string label_text(const PathDisplay& display, const Label& label);

// The same of a row with several labels: "h.0.mlp | held to backward".
std::string label_text(const PathDisplay& display, const std::vector<Label>& labels);

// The text in at most `room` columns: its middle is left out, since a path says most at its ends.
std::string shortened(const std::string& text, size_t room);

// A row: `start`, then a text that is shortened to the columns the terminal has left for it.
std::string row_in_width(const PathDisplay& display,
                         const std::string& start,
                         const std::string& text);

// Columns of a terminal that UTF-8 text takes, one for a character.
size_t column_count(const std::string& text);

// "  via aten::addmm, +2 more": below what this line the bytes of a row were asked for. Empty when
// nothing is known.
std::string via_text(const std::vector<ViaPart>& via);

// A row of a line and what its bytes came through. Where both are too long the folders of the line
// go first, then the end of the row: the file, line and function stay.
std::string row_with_via(const PathDisplay& display,
                         const std::string& start,
                         const std::vector<Label>& labels,
                         const std::vector<ViaPart>& via);

}  // namespace peakline::report
