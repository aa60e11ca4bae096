// The state of each file that this run wrote: one per path, shared by all processes of the run.
// PEAKLINE_SIM_WRITES names the notes file with the states. Each record is a letter and a path,
// ended by a zero byte. Whoever changes a state appends a record; the last one counts. `peakline
// run` reads them at the end (pyhook/peakline/launch/written_files.py).
//
// Paths are absolute and resolved, except for a link as the last part.
#pragma once

#include <cstddef>

namespace peakline::guard {

enum class FileState : char {
    kNone = '-',       // not made by this run
    kOwn = 'O',        // made by this run: the program's own data
    kSimulated = 'N',  // made by this run: a checkpoint without real values
    // The real file is unchanged. The program's output is in the hidden file beside it:
    kHiddenOwn = 'P',  // the program's own data, unless a checkpoint follows
    kHidden = 'C',     // a checkpoint without real values
    kRemoved = 'X',    // the program removed it
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

// Returns false if there is no notes file; then nothing is guarded.
bool has_notes();

FileState state_of(const char* path);
void set_state(const char* path, FileState state);
// Call when a file, or a folder with its contents, was renamed.
void move_states(const char* from, const char* to);
// Whether any path is hidden or removed. If not, every path is the file on disk.
bool has_redirections();

// Facts about the run. Returns true for the first process that notes the fact.
bool note_fact(const char* fact);
bool has_fact(const char* fact);

}  // namespace peakline::guard
