// The folder for what is compiled on this machine, and what may be loaded from it: code that others
// could have written would run as this user. The recorder looks here for the part for torch, and
// Python (build_cache.py) takes the same answers through peakline._recorder. Changes nothing.
#pragma once

#include <cstddef>

namespace peakline::preload {

// The first that is usable of `named` (PEAKLINE_CACHE_DIR), $XDG_CACHE_HOME/peakline,
// $HOME/.cache/peakline and /tmp/peakline-UID. Relative paths are not looked at. It need not exist
// yet. Usable: made by this user or root, and no other user can write to it or replace it.
// `refusal`: why those before it are not used, or "". False: none is usable.
bool choose_cache_folder(
    const char* named, char* folder, size_t room, char* refusal, size_t refusal_room);

// Whether this file of the cache, or folder, and the folder around it are of this user or root, and
// no other user can write to them. Otherwise `why` says what is wrong, in a few words.
bool may_load(const char* path, char* why, size_t room);

}  // namespace peakline::preload
