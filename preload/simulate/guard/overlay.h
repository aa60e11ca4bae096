// Which file a path of the program means: the file itself, the hidden one beside it, or none,
// because the program removed it and the guard kept it.
#pragma once

#include <climits>

#include "file_states.h"

namespace peakline::guard {

constexpr char kHiddenEnd[] = ".peakline-simulated";

enum class LastLink { kFollow, kKeep };

struct Resolved {
    char path[PATH_MAX] = "";    // absolute, without links; the name in the states
    char actual[PATH_MAX] = "";  // where the file is
    FileState state = FileState::kNone;
    bool is_elsewhere = false;  // a part of the path is hidden: only `actual` leads there
};

// "dir/.name.peakline-simulated" of "dir/name". False: too long.
bool hidden_path(const char* path, char (&hidden)[PATH_MAX]);
bool is_hidden_name(const char* name);
// The path that a hidden one stands for; others stay. Changes `path`.
void to_logical_path(char* path);
// The file or folder behind a descriptor, as the program knows it. False: it has no path.
bool path_of_descriptor(int descriptor, char (&path)[PATH_MAX]);

// folder: of openat and the like. False when the path cannot be followed: the kernel says why.
bool resolve(int folder, const char* path, LastLink last, Resolved* resolved);

}  // namespace peakline::guard
