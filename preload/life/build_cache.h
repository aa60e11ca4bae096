// Chooses the folder for libraries compiled on this machine, and checks files before they are
// loaded: code that others could write would run as this user. The recorder looks here for the part
// for torch. Python (build_cache.py) uses the same functions through peakline._recorder. Changes no
// file.
#pragma once

#include <cstddef>

namespace peakline::preload {

// Chooses the first usable folder of `named` (PEAKLINE_CACHE_DIR), $XDG_CACHE_HOME/peakline,
// $HOME/.cache/peakline and /tmp/peakline-UID. Relative paths are skipped. The folder need not
// exist yet. Usable means: owned by this user or root, and no other user can write to it or replace
// it. `refusal`: why the folders before it are not used, or "". Returns false if none is usable.
bool choose_cache_folder(
    const char* named, char* folder, size_t room, char* refusal, size_t refusal_room);

// Whether this user or root owns this file or folder of the cache and its parent folder, and no
// other user can write to them. If not, `why` gives the problem in a few words.
bool may_load(const char* path, char* why, size_t room);

}  // namespace peakline::preload
