// Messages to the user, on standard error and through `peakline run`. Safe in hooks: no stdio, no
// malloc, no descriptor of the program.
#pragma once

#include "options.h"

namespace peakline::preload {

// Called once, when the options are read: finds standard error and the notes file of `peakline
// run`. Before it, nothing is printed.
void begin_messages(const Options& options);

// Prints one line, "peakline: ...". If standard error is no longer the file from the start of the
// program, `peakline run` prints the line at its end.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// Adds the line "what<tab>path" to the notes file, in which processes report to `peakline run`:
// "on" (the recorder was installed), "unwritten" (no trace file could be made), "lost" (the file
// was removed or replaced) or "said" (a line for the user). Returns false if there is no such file
// or it cannot be written.
bool note_for_run(const char* what, const char* path);

}  // namespace peakline::preload
