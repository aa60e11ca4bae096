// What this run did to the files that it wrote: one state per path, the same in all processes of
// the run. The states are the notes file that PEAKLINE_SIM_WRITES names: records, each a letter and
// a path with a zero byte at its end, appended by whoever changes a state; the last one counts.
// `peakline run` reads them at the end (pyhook/peakline/launch/written_files.py).
//
// Paths are absolute and without links, but for a link at the end.
#pragma once

#include <cstddef>

namespace peakline::guard {

enum class FileState : char {
    kNone = '-',       // not made by this run
    kOwn = 'O',        // made by this run: the program's own data
    kSimulated = 'N',  // made by this run: a checkpoint without real values
    // The real file stays as it is. What the program wrote is in the hidden file beside it:
    kHiddenOwn = 'P',  // the program's own data, so far
    kHidden = 'C',     // a checkpoint without real values
    kRemoved = 'X',    // nothing: the program removed it
    kFolder = 'D',     // a folder made by this run
    kLink = 'L',       // a symbolic link made by this run
};

inline bool is_hidden(FileState state) {
    return state == FileState::kHidden || state == FileState::kHiddenOwn;
}
// A checkpoint without real values.
inline bool is_simulated(FileState state) {
    return state == FileState::kHidden || state == FileState::kSimulated;
}

// False: there are no notes, and nothing is guarded.
bool has_notes();

FileState state_of(const char* path);
void set_state(const char* path, FileState state);
// A file or folder with all that is in it has a new name.
void move_states(const char* from, const char* to);
// Whether any path is hidden or removed: else every path is what it is on disk.
bool has_redirections();

// Facts about the run. True for the first of all processes that note this one.
bool note_fact(const char* fact);
bool has_fact(const char* fact);

}  // namespace peakline::guard
