// Resolves a path of the program: to the file itself, to the hidden file beside it, or to none if
// the program removed it and the guard kept it.
#pragma once

#include <climits>

#include "file_states.h"

namespace peakline::guard {

constexpr char kHiddenEnd[] = ".peakline-simulated";

enum class LastLink { kFollow, kKeep };

struct Resolved {
    char path[PATH_MAX] = "";    // absolute and resolved; the key in the states
    char actual[PATH_MAX] = "";  // the file on disk
    FileState state = FileState::kNone;
    bool is_elsewhere = false;  // a part of the path is hidden, so only `actual` leads to the file
};

// Returns "dir/.name.peakline-simulated" for "dir/name". Returns false if it is too long.
bool hidden_path(const char* path, char (&hidden)[PATH_MAX]);
bool is_hidden_name(const char* name);
// Replaces the path of a hidden file by that of its real file. Other paths stay.
void to_logical_path(char* path);
// The path that the program knows for a descriptor's file or folder. Returns false if it has none.
bool path_of_descriptor(int descriptor, char (&path)[PATH_MAX]);

// folder: as for openat. Returns false if the path cannot be followed; the kernel then gives the
// error.
bool resolve(int folder, const char* path, LastLink last, Resolved* resolved);

}  // namespace peakline::guard
