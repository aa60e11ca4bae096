// Decides how a change to a file is carried out: on the file itself, in a hidden file, or only as a
// note. Each function keeps errno unless its comment states otherwise.
//
// Note [What is guarded]
// A checkpoint without real values must not replace a real one, and must not exist after the run.
// So output of torch.save and similar functions (saving.h) goes to a hidden file if the file
// already exists, and is removed at the end. All other files are the program's own and are written
// normally. One case is undecided at first: a file that may be a real checkpoint is opened for
// writing before its new content is known (`open("model.pt", "wb")`). Then the program writes to a
// hidden file, which replaces the real one at the end unless a checkpoint was saved into it. A real
// checkpoint itself is never changed, moved or removed, not even by `kill -9`.
#pragma once

#include <sys/types.h>

#include "file_states.h"

namespace peakline::guard {

struct Path {
    int folder;
    const char* path;  // nullptr: the program has removed it (ENOENT)
};

// Returns the path to read. buffer: PATH_MAX bytes.
Path read_path(int folder, const char* path, bool follows_link, char* buffer);
// Returns the path to open with these flags; creates the hidden file if one is needed.
Path opened_path(int folder, const char* path, int flags, char* buffer);

// Carry out the whole change. They return the system call's result and set errno.
int rename_file(int from_folder, const char* from, int to_folder, const char* to);
int link_file(int from_folder, const char* from, int to_folder, const char* to, int flags);
int symlink_file(const char* target, int folder, const char* path);
int unlink_file(int folder, const char* path);
int remove_folder(int folder, const char* path);
int make_folder(int folder, const char* path, mode_t mode);

}  // namespace peakline::guard
