// What becomes of a change that the program makes to a file: it is made as it is, or in a hidden
// file, or only noted. Each function keeps errno unless it says otherwise.
//
// Note [What is guarded]
// A checkpoint without real values must not take the place of a real one, and must not be there
// when the run has ended. So what torch.save and the like write (saving.h) goes to a hidden file
// where a file exists already, and is removed at the end. All other files are the program's own and
// are written as they are. Only where a real checkpoint may be overwritten before anybody knows by
// what (`open("model.pt", "wb")`), the program writes to a hidden file, which becomes the real one
// at the end unless a checkpoint was saved into it. A real checkpoint itself is never changed,
// moved or removed: this holds after `kill -9`, too.
#pragma once

#include <sys/types.h>

#include "file_states.h"

namespace peakline::guard {

struct Path {
    int folder;
    const char* path;  // nullptr: the program has removed it (ENOENT)
};

// The path to read. buffer: PATH_MAX bytes.
Path read_path(int folder, const char* path, bool follows_link, char* buffer);
// The path to open with these flags; makes the hidden file if one is needed.
Path opened_path(int folder, const char* path, int flags, char* buffer);

// The whole change: what the system call of this name returns, errno included.
int rename_file(int from_folder, const char* from, int to_folder, const char* to);
int link_file(int from_folder, const char* from, int to_folder, const char* to, int flags);
int symlink_file(const char* target, int folder, const char* path);
int unlink_file(int folder, const char* path);
int remove_folder(int folder, const char* path);
int make_folder(int folder, const char* path, mode_t mode);

}  // namespace peakline::guard
