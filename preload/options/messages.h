// Lines for the user: on standard error, and to `peakline run`. Safe in hooks: no stdio, no malloc,
// no descriptor of the program.
#pragma once

#include "options.h"

namespace peakline::preload {

// Called once, when the options are read: which file is standard error, and where `peakline run`
// listens. Until then nothing is said.
void begin_messages(const Options& options);

// One line, "peakline: ...". Where standard error is no longer the file that it was when the
// program started, `peakline run` says it at the end.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// Adds the line "what<tab>path" to the file in which `peakline run` learns what became of its
// processes: "on" (the recorder came up), "unwritten" (no trace file could be made), "lost" (the
// file was removed or replaced) or "said" (a line for the user). False without such a file, or when
// it cannot be written.
bool note_for_run(const char* what, const char* path);

}  // namespace peakline::preload
